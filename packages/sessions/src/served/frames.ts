/** Checks of client frames. Written by hand: they run for every frame, and each failure has a code of its own. */
import {
  type Content,
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
import { bytesOf, type Rules } from '../requests/rules.js';

/** A frame's fields, unchecked. */
export type RawFrame = Readonly<Record<string, unknown>>;

/** Whether a decoded value can be a frame at all. */
export const isFrame = (raw: unknown): raw is RawFrame =>
  typeof raw === 'object' && raw !== null && !Array.isArray(raw);

/** The limit of a cluster file. */
const MAX_REGIONS = 64;

const invalid = (detail: string): IsochronError => new IsochronError('INVALID_REQUEST', detail);

/** @throws IsochronError `INVALID_REQUEST` */
export function txIdField(frame: RawFrame, name: 'tx' | 'after' = 'tx'): TxId {
  const raw = frame[name];
  if (typeof raw !== 'string' || !isTxId(raw)) throw invalid(`"${name}" is not a transaction id.`);
  return raw;
}

/** @throws IsochronError `INVALID_REQUEST` */
export const optionalTxId = (frame: RawFrame, name: 'tx' | 'after' = 'tx'): TxId | null =>
  frame[name] == null ? null : txIdField(frame, name);

/** @throws IsochronError `INVALID_REQUEST` */
export function timestampField(frame: RawFrame, name: string): Timestamp {
  const raw = frame[name];
  if (!isTimestamp(raw)) throw invalid(`"${name}" is not a timestamp.`);
  return raw;
}

/** @throws IsochronError `INVALID_REQUEST` */
export const optionalTimestamp = (frame: RawFrame, name: string): Timestamp | null =>
  frame[name] == null ? null : timestampField(frame, name);

/** The entries of a snapshot beside its timestamp; none at all is allowed. @throws IsochronError `INVALID_REQUEST` */
export function depsOf({ deps }: RawFrame, entries: number): readonly Timestamp[] | undefined {
  if (deps == null) return undefined;
  if (entries > 0 && Array.isArray(deps) && deps.length === entries && deps.every(isTimestamp)) return deps;
  throw invalid(`"deps" is not the ${entries} entries that a snapshot has here beside its timestamp.`);
}

/**
 * The state of a session of single operations, unjudged: its coordinator does that. @throws IsochronError
 * `INVALID_REQUEST`
 */
export function seenOf({ seen, region, depends }: RawFrame, rules: Rules): Omit<OperationSessionState, 'ust'> {
  if (!Array.isArray(seen) || !seen.every(isTimestamp)) throw invalid('"seen" is not a list of timestamps.');
  if (typeof region !== 'string') throw invalid('"region" is not the name of a region.');
  if (depends == null) return { seen, region };
  if (!Array.isArray(depends)) throw invalid('"depends" is not a list of versions.');
  return { seen, region, depends: depends.map((one: unknown) => dependencyOf(one, rules)) };
}

function dependencyOf(raw: unknown, rules: Rules): Dependency {
  if (!isFrame(raw) || !isTimestamp(raw.ts)) throw invalid('"depends" is not a list of versions.');
  const { ts, near } = raw;
  const source = optionalInt(raw, 'source', 0, MAX_REGIONS) ?? 0;
  return { key: keyField(raw, rules), source, ts, ...(near === true ? { near } : {}) };
}

/** @throws IsochronError `INVALID_REQUEST` */
export function optionalText(frame: RawFrame, name: string, maxLength: number): string | undefined {
  const raw = frame[name];
  if (raw == null) return undefined;
  if (typeof raw !== 'string' || raw.length > maxLength)
    throw invalid(`"${name}" is not a string of at most ${maxLength}.`);
  return raw;
}

/** @throws IsochronError `INVALID_REQUEST` */
export function optionalInt(frame: RawFrame, name: string, min: number, max: number): number | undefined {
  const raw = frame[name];
  if (raw == null) return undefined;
  if (typeof raw !== 'number' || !Number.isInteger(raw) || raw < min || raw > max) {
    throw invalid(`"${name}" is not an integer from ${min} to ${max}.`);
  }
  return raw;
}

/** The keys of a read. @throws IsochronError for what the rules refuse */
export function keysField(frame: RawFrame, rules: Rules): QualifiedKey[] {
  const raw = frame.keys;
  if (!Array.isArray(raw) || raw.length === 0) throw invalid('"keys" is not a list of keys.');
  rules.count(raw.length);
  for (const key of raw) {
    if (typeof key !== 'string') throw invalid('"keys" is not a list of keys.');
    rules.qualified(key);
  }
  return raw as QualifiedKey[];
}

/** @throws IsochronError `INVALID_REQUEST` */
export function attemptRegionsField(frame: RawFrame, isRegion: (name: string) => boolean): string[] {
  const raw = frame.attemptRegions;
  if (!Array.isArray(raw) || raw.length === 0 || raw.length > 16)
    throw invalid('"attemptRegions" is not a list of 1 to 16 regions.');
  for (const home of raw) {
    if (typeof home !== 'string' || !isRegion(home))
      throw invalid('"attemptRegions" names something that is not a region.');
  }
  return raw as string[];
}

/** The regions that each attempt avoids, beside its home. @throws IsochronError `INVALID_REQUEST` */
export function avoidsField(
  { avoids }: RawFrame,
  attempts: number,
  isAvoidList: (avoid: readonly string[]) => boolean,
): string[][] | undefined {
  if (avoids == null) return undefined;
  const fits = (avoid: unknown): avoid is string[] =>
    Array.isArray(avoid) &&
    avoid.length <= MAX_REGIONS &&
    avoid.every((region) => typeof region === 'string') &&
    isAvoidList(avoid);
  if (Array.isArray(avoids) && avoids.length === attempts && avoids.every(fits)) return avoids;
  throw invalid('"avoids" is not a list of sorted regions for each of "attemptRegions".');
}

/** The writes of a commit. @throws IsochronError for what the rules refuse */
export function writesField(frame: RawFrame, rules: Rules): KeyWrite[] {
  const raw: unknown = frame.writes;
  if (!Array.isArray(raw) || raw.length === 0) throw invalid('"writes" is not a list of writes.');
  rules.count(raw.length);
  const seen = new Set<QualifiedKey>();
  return raw.map((write: unknown) => {
    if (!isFrame(write) || typeof write.key !== 'string') throw invalid('A write has no key.');
    if (seen.has(write.key)) throw invalid('A transaction writes each key once: one of the keys is named twice.');
    seen.add(write.key);
    return { key: rules.qualified(write.key), value: contentField(write, rules) };
  });
}

/** @throws IsochronError for what the rules refuse */
export function keyField({ key }: RawFrame, rules: Rules): QualifiedKey {
  if (typeof key !== 'string') throw invalid('"key" is not a key.');
  return rules.qualified(key);
}

/** A value, a deletion or an update. @throws IsochronError for what the rules refuse */
function contentField(write: RawFrame, rules: Rules): Content {
  const raw = write.value;
  if (isFrame(raw) && typeof raw.operations === 'string') return rules.update(raw.operations);
  return valueField(write, rules);
}

/** @throws IsochronError for what the rules refuse */
export function valueField(write: RawFrame, rules: Rules): Value | null {
  const raw = write.value;
  if (raw === null) return null;
  if (typeof raw === 'string') return rules.value(raw);
  // A copy: the decoder's bytes are a view of the whole message, which the store would keep alive.
  if (raw instanceof Uint8Array) return rules.value(new Uint8Array(raw));
  if (isFrame(raw) && typeof raw.bytes === 'string') return rules.value(bytesOf(raw.bytes));
  throw new IsochronError('VALUE_INVALID', 'A value is the text of a JSON document, bytes, or null for a deletion.');
}
