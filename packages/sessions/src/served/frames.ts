/**
 * Checks of a client's frames. `request` checks the fields that a frame declares, in place: this runs for every frame.
 * The rules of the node follow, and each failure has a code of its own.
 */
import {
  type Dependency,
  IsochronError,
  isTimestamp,
  isTxId,
  type KeyWrite,
  type QualifiedKey,
  type Timestamp,
  type TxId,
  type Value,
} from '@isochron/core';
import type { OperationSessionState } from '@isochron/protocols';
import type { WireContent, WireSeen, WireUpdate, WireValue } from '@isochron/wire/session-frames';
import type { Fields, Infer, Kind, ObjectForm } from '@isochron/wire/session-frames/notation';
import type { CommitFrame } from '@isochron/wire/session-frames/requests';
import { bytesOf, type Rules } from '../requests/rules.js';

/** A frame's fields, unchecked. */
export type RawFrame = Readonly<Record<string, unknown>>;

/** Checked fields. A client may also send null for an optional one. */
export type Checked<T> = { readonly [F in keyof T]: undefined extends T[F] ? T[F] | null : T[F] };

/** Whether a decoded value can be a frame at all. */
export const isFrame = (raw: unknown): raw is RawFrame =>
  typeof raw === 'object' && raw !== null && !Array.isArray(raw);

/** The limit of a cluster file. */
const MAX_REGIONS = 64;
const MAX_ATTEMPTS = 16;

const invalid = (detail: string): IsochronError => new IsochronError('INVALID_REQUEST', detail);

/** What a value should be but is not; undefined if it is. */
type ValueCheck = (raw: unknown) => string | undefined;

/**
 * The check of a declared frame. @throws IsochronError `INVALID_REQUEST` for a field that does not fit, `VALUE_INVALID`
 * for a value
 */
export function checkOf<K extends ObjectForm & Kind>({ of }: K): (frame: RawFrame) => Checked<Infer<K>> {
  const [names, checks] = checksOf(of);
  return (frame) => {
    for (let i = 0; i < names.length; i++) {
      const expected = checks[i]!(frame[names[i]!]);
      if (expected !== undefined) throw invalid(`"${names[i]}" is not ${expected}.`);
    }
    return frame as Checked<Infer<K>>;
  };
}

/** The names of fields, and the check of each. Apart, since loops over pairs are slow. */
const checksOf = (fields: Fields): [string[], ValueCheck[]] => [
  Object.keys(fields),
  Object.values(fields).map(compiled),
];

const leaf =
  (expected: string, accepts: (raw: unknown) => boolean): ValueCheck =>
  (raw) =>
    accepts(raw) ? undefined : expected;

const isInteger = (raw: unknown): raw is number => typeof raw === 'number' && Number.isInteger(raw);

const LEAVES = {
  count: (raw) => (isInteger(raw) && raw >= 0 && raw <= Number.MAX_SAFE_INTEGER ? undefined : 'a whole number'),
  timestamp: (raw) => (isTimestamp(raw) ? undefined : 'a timestamp'),
  txId: (raw) => (typeof raw === 'string' && isTxId(raw) ? undefined : 'a transaction id'),
  flag: () => undefined,
  mark: () => undefined,
  later: () => undefined,
  value: valueCheck,
  content: contentCheck,
} satisfies Record<string, ValueCheck>;

function compiled(kind: Kind): ValueCheck {
  switch (kind.is) {
    case 'text':
      return textCheck(kind.max);
    case 'whole':
      return wholeCheck(kind.min, kind.max);
    case 'optional':
      return presentCheck(compiled(kind.of));
    case 'nullable':
      return notNullCheck(compiled(kind.of));
    case 'list':
      return kind.of.is === 'text' && kind.of.max === undefined ? textsCheck : listCheck(compiled(kind.of));
    case 'object':
      return objectCheck(checksOf(kind.of));
    default:
      return LEAVES[kind.is as keyof typeof LEAVES];
  }
}

const anyText: ValueCheck = (raw) => (typeof raw === 'string' ? undefined : 'a string');

const textCheck = (max?: number): ValueCheck =>
  max === undefined
    ? anyText
    : leaf(`a string of at most ${max}`, (raw) => typeof raw === 'string' && raw.length <= max);

const wholeCheck = (min: number, max: number): ValueCheck =>
  leaf(`an integer from ${min} to ${max}`, (raw) => isInteger(raw) && raw >= min && raw <= max);

const presentCheck =
  (check: ValueCheck): ValueCheck =>
  (raw) =>
    raw == null ? undefined : check(raw);

const notNullCheck =
  (check: ValueCheck): ValueCheck =>
  (raw) =>
    raw === null ? undefined : check(raw);

const listCheck =
  (check: ValueCheck): ValueCheck =>
  (raw) => {
    if (!Array.isArray(raw)) return 'a list';
    for (let i = 0; i < raw.length; i++) {
      const expected = check(raw[i]);
      if (expected !== undefined) return `a list in which each item is ${expected}`;
    }
    return undefined;
  };

/** Hot: the keys of every read. */
const textsCheck: ValueCheck = (raw) => {
  if (!Array.isArray(raw)) return 'a list';
  for (let i = 0; i < raw.length; i++) {
    if (typeof raw[i] !== 'string') return 'a list in which each item is a string';
  }
  return undefined;
};

const objectCheck =
  ([names, checks]: [string[], ValueCheck[]]): ValueCheck =>
  (raw) => {
    if (!isFrame(raw)) return 'an object';
    for (let i = 0; i < names.length; i++) {
      const expected = checks[i]!(raw[names[i]!]);
      if (expected !== undefined) return `an object in which "${names[i]}" is ${expected}`;
    }
    return undefined;
  };

/** @throws IsochronError `VALUE_INVALID` */
function valueCheck(raw: unknown): undefined {
  if (typeof raw === 'string' || raw instanceof Uint8Array || (isFrame(raw) && typeof raw.bytes === 'string')) return;
  throw new IsochronError('VALUE_INVALID', 'A value is the text of a JSON document, bytes, or null for a deletion.');
}

/** @throws IsochronError `VALUE_INVALID` */
function contentCheck(raw: unknown): undefined {
  if (typeof raw === 'string' || raw === null || (isFrame(raw) && typeof raw.operations === 'string')) return;
  valueCheck(raw);
}

/** The entries of a snapshot beside its timestamp; none at all is allowed. @throws IsochronError `INVALID_REQUEST` */
export function depsOf(
  deps: readonly Timestamp[] | null | undefined,
  entries: number,
): readonly Timestamp[] | undefined {
  if (deps == null) return undefined;
  if (entries > 0 && deps.length === entries) return deps;
  throw invalid(`"deps" is not the ${entries} entries that a snapshot has here beside its timestamp.`);
}

/**
 * The state of a session of single operations, unjudged: its coordinator does that. @throws IsochronError
 * `INVALID_REQUEST`, and for what the rules refuse
 */
export function seenOf({ seen, region, depends }: Checked<WireSeen>, rules: Rules): Omit<OperationSessionState, 'ust'> {
  if (depends == null) return { seen, region };
  return { seen, region, depends: depends.map((one) => dependencyOf(one, rules)) };
}

function dependencyOf({ key, source, ts, near }: Dependency, rules: Rules): Dependency {
  if (source > MAX_REGIONS) throw invalid(`"source" is not an integer from 0 to ${MAX_REGIONS}.`);
  return { key: rules.qualified(key), source, ts, ...(near === true ? { near } : {}) };
}

/** The id of a request that needs one here. @throws IsochronError `INVALID_REQUEST` */
export function requiredTx(tx: TxId | null | undefined): TxId {
  if (tx == null) throw invalid('"tx" is not a transaction id.');
  return tx;
}

/** The keys of a read. @throws IsochronError for what the rules refuse */
export function keysOf(keys: readonly string[], rules: Rules): readonly QualifiedKey[] {
  rules.count(keys.length);
  for (const key of keys) rules.qualified(key);
  return keys;
}

/** @throws IsochronError `INVALID_REQUEST` */
export function attemptRegionsOf(regions: readonly string[], isRegion: (name: string) => boolean): readonly string[] {
  if (regions.length === 0 || regions.length > MAX_ATTEMPTS)
    throw invalid(`"attemptRegions" is not a list of 1 to ${MAX_ATTEMPTS} regions.`);
  if (!regions.every(isRegion)) throw invalid('"attemptRegions" names something that is not a region.');
  return regions;
}

/** The regions that each attempt avoids, beside its home. @throws IsochronError `INVALID_REQUEST` */
export function avoidsOf(
  { avoids, attemptRegions }: Checked<Pick<CommitFrame, 'avoids' | 'attemptRegions'>>,
  isAvoidList: (avoid: readonly string[]) => boolean,
): readonly (readonly string[])[] | undefined {
  if (avoids == null) return undefined;
  const fits = (avoid: readonly string[]): boolean => avoid.length <= MAX_REGIONS && isAvoidList(avoid);
  if (avoids.length === attemptRegions.length && avoids.every(fits)) return avoids;
  throw invalid('"avoids" is not a list of sorted regions for each of "attemptRegions".');
}

/** The versions of the attempts' maps. @throws IsochronError `INVALID_REQUEST` */
export function mapsOf({
  maps,
  attemptRegions,
}: Checked<Pick<CommitFrame, 'maps' | 'attemptRegions'>>): readonly number[] | undefined {
  if (maps == null) return undefined;
  if (maps.length === attemptRegions.length) return maps;
  throw invalid('"maps" is not a number for each of "attemptRegions".');
}

/** The writes of a commit. @throws IsochronError for what the rules refuse */
export function writesOf(writes: CommitFrame['writes'], rules: Rules): KeyWrite[] {
  if (writes.length === 0) throw invalid('"writes" is empty.');
  rules.count(writes.length);
  const seen = new Set<QualifiedKey>();
  return writes.map(({ key, value }) => {
    if (seen.has(key)) throw invalid('A transaction writes each key once: one of the keys is named twice.');
    seen.add(key);
    return { key: rules.qualified(key), value: contentOf(value, rules) };
  });
}

/** A value, a deletion or an update. @throws IsochronError for what the rules refuse */
const contentOf = (content: WireContent, rules: Rules): KeyWrite['value'] =>
  isUpdate(content) ? rules.update(content.operations) : plainOf(content, rules);

const isUpdate = (content: WireContent): content is WireUpdate =>
  typeof content === 'object' && content !== null && 'operations' in content && typeof content.operations === 'string';

/** @throws IsochronError for what the rules refuse */
export function plainOf(value: WireValue | null, rules: Rules): Value | null {
  if (value === null) return null;
  if (typeof value === 'string') return rules.value(value);
  // A copy: the decoder's bytes are a view of the whole message, which the store would keep alive.
  return rules.value(value instanceof Uint8Array ? new Uint8Array(value) : bytesOf(value.bytes));
}
