/**
 * Values of LevelDB records: a CRC-32, the number of the format, and a MessagePack array without field names. LevelDB
 * does not verify its own checksums on reads, so every record carries one: a damaged record is an error, never a wrong
 * result. It covers the record's key too: the value of one key never passes for that of another.
 */
import {
  boolean,
  type Change,
  type Content,
  compareVersions,
  content,
  type Dependency,
  type Deps,
  isTimestamp,
  type KeyWrite,
  type Kind,
  type LoggedTx,
  list,
  MalformedMessage,
  type MetaValue,
  type Need,
  need,
  nullable,
  type OutcomeRecord,
  object,
  oneOf,
  optional,
  type PartitionId,
  type PreparedRecord,
  type StoredVersion,
  struct,
  type Timestamp,
  type TxId,
  text,
  timestamp,
  Update,
  uint,
} from '@isochron/core';
import { Packr } from 'msgpackr';
import { crc32 } from '../crc32.js';
import { corrupt, reasonOf, unknownFormat } from '../failure.js';
import { CHECKPOINT } from './disk-keys.js';

const packr = new Packr({ useRecords: false });
/**
 * Number of the format. Checksum and number have the same place in every format, so that an unknown one is told from
 * damage.
 */
const FORMAT = 1;
const CHECKSUM_BYTES = 4;
const HEADER_BYTES = CHECKSUM_BYTES + 1;
/** msgpackr's RESERVE_START_SPACE: leaves room for the header, so that nothing is copied. */
const WITH_ROOM = 2048 + HEADER_BYTES;
const PAYLOAD = { start: HEADER_BYTES };

const checksumOf = (key: string, bytes: Buffer): number => crc32(bytes.subarray(CHECKSUM_BYTES), crc32(key));

/**
 * Packs the record of a disk key. The result may share memory with others: pass it to LevelDB in the same tick or copy
 * it.
 */
export function seal(payload: unknown, key: string, format = FORMAT): Buffer {
  const bytes = packr.pack(payload, WITH_ROOM);
  bytes[CHECKSUM_BYTES] = format;
  bytes.writeUInt32LE(checksumOf(key, bytes), 0);
  return bytes;
}

/**
 * Checks and unpacks the record of a disk key.
 * @throws CorruptRecord
 */
export function unseal(bytes: Buffer, key: string, known = FORMAT): unknown {
  if (bytes.length <= HEADER_BYTES) throw corrupt(key, 'truncated', 'it is cut short');
  if (bytes.readUInt32LE(0) !== checksumOf(key, bytes)) throw corrupt(key, 'checksum', 'its checksum is wrong');
  const format = bytes[CHECKSUM_BYTES];
  if (format !== known) throw unknownFormat(`The record ${JSON.stringify(key)} on disk`, format, known, key);
  try {
    return packr.unpack(bytes, PAYLOAD);
  } catch (error) {
    throw corrupt(key, 'malformed', reasonOf(error));
  }
}

/** The newest versions of a key, oldest first, and which segments hold the older ones. */
export interface Head {
  /** Numbers of the segments, oldest first; no segments when `first > last`. */
  readonly first: number;
  readonly last: number;
  /** Versions in all segments together. */
  readonly tailCount: number;
  readonly versions: StoredVersion[];
}

/**
 * Number of elements of a version. One more follows if it has relations, the only one that is a list: the time of a
 * late write behind a mark, dependencies that are numbers, siblings as numbers below zero, and then dependencies that
 * name keys, each of them a list.
 */
const VERSION_FIELDS = 4;
const HEAD_FIELDS = 3;

/** Packs `versions[from]` and all after it behind the head's own fields. */
export function sealHead(head: Head, from: number, key: string): Buffer {
  return seal(flattened([head.first, head.last, head.tailCount], head.versions, from), key);
}

export const sealSegment = (versions: readonly StoredVersion[], key: string): Buffer =>
  seal(flattened([], versions, 0), key);

function flattened(flat: unknown[], versions: readonly StoredVersion[], from: number): unknown[] {
  for (let i = from; i < versions.length; i++) flattenVersion(flat, versions[i]!);
  return flat;
}

/** Appends the elements of a version. Hot: versions are packed for the log, and with every head of the key. */
export function flattenVersion(flat: unknown[], version: StoredVersion): void {
  flat.push(version.ts, version.txId, version.region, content.encode(version.value));
  if (mayHaveRelations(version)) flattenRelations(flat, version);
}

const mayHaveRelations = ({ deps, depends, siblings, at }: StoredVersion): boolean =>
  deps !== undefined || depends !== undefined || siblings !== undefined || at !== undefined;

function flattenRelations(flat: unknown[], version: StoredVersion): void {
  const relations = relationsIn(version);
  if (relations.length > 0) flat.push(relations);
}

function relationsIn({ deps, depends, siblings, at }: StoredVersion): unknown[] {
  const relations: unknown[] = at === undefined ? [] : [LATE, at];
  if (deps !== undefined) relations.push(...deps);
  if (siblings !== undefined) for (const partition of siblings) relations.push(belowZero(partition));
  if (depends !== undefined) for (const dependency of depends) relations.push(DEPENDENCY.encode(dependency));
  return relations;
}

const NONE = Buffer.alloc(0);

/** Packs the relations of a version for memory; empty without any. */
export function sealRelations(version: StoredVersion): Uint8Array {
  if (!mayHaveRelations(version)) return NONE;
  const relations = relationsIn(version);
  return relations.length === 0 ? NONE : packr.pack(relations);
}

/** Opens what `sealRelations` has packed. */
export const openRelations = (bytes: Uint8Array): Relations => relationsOf(packr.unpack(bytes) as unknown[], 'memory');

/** @throws CorruptRecord */
export function openHead(bytes: Buffer, key: string): Head {
  const flat = unsealFlat(bytes, key);
  const [first, last, tailCount] = flat;
  if (!isCount(first) || !Number.isSafeInteger(last) || !isCount(tailCount))
    throw corrupt(key, 'malformed', 'its head is malformed');
  const segments = (last as number) - first + 1;
  if (segments < 0 || segments > tailCount || (segments === 0 && tailCount > 0))
    throw corrupt(key, 'malformed', `it has ${tailCount} older versions in ${segments} segments`);
  return { first, last: last as number, tailCount, versions: versionsIn(flat, HEAD_FIELDS, key) };
}

/** @throws CorruptRecord */
export const openSegment = (bytes: Buffer, key: string): StoredVersion[] => versionsIn(unsealFlat(bytes, key), 0, key);

const isCount = (raw: unknown): raw is number => Number.isSafeInteger(raw) && (raw as number) >= 0;

function unsealFlat(bytes: Buffer, key: string): unknown[] {
  const flat = unseal(bytes, key);
  if (!Array.isArray(flat)) throw corrupt(key, 'malformed', 'it is not a list');
  return flat;
}

/** One string per region in memory, however many records have it. */
const regions = new Map<string, string>();

/**
 * The versions among the elements of a record, from an index on.
 * @throws CorruptRecord
 */
export function versionsIn(flat: unknown[], from: number, key: string): StoredVersion[] {
  const versions: StoredVersion[] = [];
  for (let at = from; at < flat.length; at += VERSION_FIELDS) {
    const plain = versionOf(flat[at], flat[at + 1], flat[at + 2], flat[at + 3]);
    if (plain === undefined) throw corrupt(key, 'malformed', 'a version is malformed');
    const relations = flat[at + VERSION_FIELDS];
    const version = Array.isArray(relations) ? { ...plain, ...relationsOf(relations, key) } : plain;
    if (version !== plain) at++;
    if (versions.length > 0 && compareVersions(versions.at(-1)!, version) >= 0) {
      throw corrupt(key, 'malformed', 'its versions are out of order');
    }
    versions.push(version);
  }
  if (versions.length === 0) throw corrupt(key, 'malformed', 'it holds no version');
  return versions;
}

/** A partition as a number below zero, and back: it tells siblings from dependencies. */
const belowZero = (partition: number): number => -1 - partition;
const isBelowZero = (raw: unknown): raw is number => Number.isSafeInteger(raw) && (raw as number) < 0;

/** Leading numbers of a record: dependencies, then siblings. */
function numbersOf(numbers: readonly unknown[]): Pick<StoredVersion, 'deps' | 'siblings'> | undefined {
  let deps: Timestamp[] | undefined;
  let siblings: PartitionId[] | undefined;
  for (const number of numbers) {
    if (isBelowZero(number)) {
      siblings ??= [];
      siblings.push(belowZero(number));
    } else if (siblings === undefined && isTimestamp(number)) {
      deps ??= [];
      deps.push(number);
    } else return undefined;
  }
  return { ...(deps === undefined ? {} : { deps }), ...(siblings === undefined ? {} : { siblings }) };
}

type Relations = Pick<StoredVersion, 'deps' | 'depends' | 'siblings' | 'at'>;

function relationsOf(raw: readonly unknown[], key: string): Relations {
  if (raw[0] !== LATE) return dependenciesOf(raw, key);
  const [, at, ...others] = raw;
  if (!isTimestamp(at)) throw corrupt(key, 'malformed', "a version's time is malformed");
  return others.length === 0 ? { at } : { ...dependenciesOf(others, key), at };
}

function dependenciesOf(raw: readonly unknown[], key: string): Relations {
  const lists = raw.findIndex((item) => Array.isArray(item));
  const numbers = numbersOf(lists < 0 ? raw : raw.slice(0, lists));
  if (raw.length === 0 || numbers === undefined) throw malformedDependencies(key);
  return lists < 0 ? numbers : { ...numbers, depends: dependsOf(raw.slice(lists), key) };
}

function dependsOf(raw: readonly unknown[], key: string): readonly Dependency[] {
  try {
    return raw.map(DEPENDENCY.decode);
  } catch (error) {
    if (error instanceof MalformedMessage) throw malformedDependencies(key);
    throw error;
  }
}

const malformedDependencies = (key: string) => corrupt(key, 'malformed', "a version's dependencies are malformed");

function versionOf(ts: unknown, txId: unknown, region: unknown, raw: unknown): StoredVersion | undefined {
  if (!isTimestamp(ts) || typeof txId !== 'string' || typeof region !== 'string') return undefined;
  const written = contentOf(raw);
  if (written === undefined) return undefined;
  let shared = regions.get(region);
  if (shared === undefined) {
    shared = region;
    if (regions.size < 1024) regions.set(region, region);
  }
  return { ts, txId, region: shared, value: written };
}

/** What a version stores; undefined if the element is malformed. Hot: values are not decoded one by one. */
function contentOf(raw: unknown): Content | undefined {
  if (raw === null || typeof raw === 'string' || raw instanceof Uint8Array) return raw;
  const [operations, ...others]: unknown[] = Array.isArray(raw) ? raw : [];
  return typeof operations === 'string' && others.length === 0 ? new Update(operations) : undefined;
}

/** Packs a value by its description, see core's `schema.ts`. */
export const sealAs = <T>(kind: Kind<T>, value: T, key: string): Buffer => seal(kind.encode(value), key);

/**
 * Checks, unpacks and validates a record.
 * @throws CorruptRecord
 */
export function openAs<T>(kind: Kind<T>, bytes: Buffer, key: string): T {
  const raw = unseal(bytes, key);
  try {
    return kind.decode(raw);
  } catch (error) {
    if (error instanceof MalformedMessage) throw corrupt(key, 'malformed', error.message);
    throw error;
  }
}

const DEPENDENCY: Kind<Dependency> = struct<Dependency>({
  key: text(65536),
  source: uint,
  ts: timestamp,
  near: optional(boolean),
});
const deps: Kind<Deps> = list(timestamp);
const depends: Kind<readonly Dependency[]> = list(DEPENDENCY);
const WRITE: Kind<KeyWrite> = struct<KeyWrite>({ key: text(65536), value: content });
const writes: Kind<readonly KeyWrite[]> = list(WRITE);

const needs: Kind<readonly Need[]> = list(need);

const name = text(65536);
const region = text(1024);

/** The mark in front of the attempt that has committed, of a logged transaction whose outcome is kept. */
const KEPT = true;
/** The mark in front of the nodes that a logged transaction needs. */
const NEEDS = false;
/** The mark in front of the time of a late write (F9). */
const LATE = null;

/**
 * A logged transaction without its id: its writes, each of them a list, and before them the nodes that it needs,
 * its attempt, its time if it is late, and its dependencies and siblings: the numbers, and one list of lists with
 * dependencies that name keys.
 */
export const LOGGED: Kind<Omit<LoggedTx, 'txId'>> = {
  // Hot: a logged transaction is packed for the log, and again for its block.
  encode: ({ writes: all, deps, depends: named, siblings, attempt, needs: needed, at }) => {
    const flat: unknown[] = needed === undefined ? [] : [NEEDS, needs.encode(needed)];
    if (attempt !== undefined) flat.push(KEPT, attempt);
    if (at !== undefined) flat.push(LATE, at);
    if (deps !== undefined) flat.push(...deps);
    if (siblings !== undefined) flat.push(...siblings.map(belowZero));
    if (named !== undefined && named.length > 0) flat.push(depends.encode(named));
    for (const write of all) flat.push(WRITE.encode(write));
    return flat;
  },
  decode: (raw) => {
    if (!Array.isArray(raw)) return { writes: writes.decode(raw) };
    if (raw[0] === NEEDS) return { ...LOGGED.decode(raw.slice(2)), needs: needs.decode(raw[1]) };
    if (raw[0] === KEPT) return { ...LOGGED.decode(raw.slice(2)), attempt: uint.decode(raw[1]) };
    if (raw[0] === LATE) return { ...LOGGED.decode(raw.slice(2)), at: timestamp.decode(raw[1]) };
    const numbers = raw.findIndex((item) => typeof item !== 'number');
    const end = numbers < 0 ? raw.length : numbers;
    const entries = numbersOf(raw.slice(0, end));
    if (entries === undefined) throw new MalformedMessage('expected dependencies and siblings');
    if (!Array.isArray(raw[end]) || !Array.isArray(raw[end][0]))
      return { writes: writes.decode(raw.slice(end)), ...entries };
    return { writes: writes.decode(raw.slice(end + 1)), ...entries, depends: depends.decode(raw[end]) };
  },
};

const BLOCK_FIELDS = 4;

/** A block of the log. */
export const LOG_BLOCK: Kind<readonly Change[]> = {
  encode: (changes) => {
    const flat: unknown[] = [];
    for (const { ct, tx, source = null } of changes) flat.push(ct, tx.txId, source, LOGGED.encode(tx));
    return flat;
  },
  decode: (raw) => {
    if (!Array.isArray(raw) || raw.length % BLOCK_FIELDS !== 0)
      throw new MalformedMessage('expected logged transactions');
    const changes: Change[] = [];
    for (let i = 0; i < raw.length; i += BLOCK_FIELDS) {
      const [ct, txId, source, tx]: unknown[] = raw.slice(i, i + BLOCK_FIELDS);
      const change = { ct: timestamp.decode(ct), tx: { txId: name.decode(txId), ...LOGGED.decode(tx) } };
      changes.push(source === null ? change : { ...change, source: region.decode(source) });
    }
    return changes;
  },
};

export const OUTCOME: Kind<OutcomeRecord> = struct<OutcomeRecord>({
  status: oneOf('committed', 'aborted', 'deferred'),
  ts: timestamp,
  attempt: uint,
  digest: nullable(text(1024)),
});

export const PREPARED: Kind<PreparedRecord> = struct<PreparedRecord>({
  pt: timestamp,
  home: text(1024),
  attempt: uint,
  sentAfter: timestamp,
  map: uint,
  cohorts: list(uint),
  digest: text(1024),
  coordinator: text(1024),
  writes,
  deps: optional(deps),
  repeatable: optional(boolean),
  needs: optional(needs),
  avoid: optional(list(text(1024))),
  ct: optional(timestamp),
  deferred: optional(object({ map: uint, first: timestamp })),
  first: optional(timestamp),
});

/** Transactions whose outcomes are dropped together. */
export const OUTCOME_IDS: Kind<readonly TxId[]> = list(text(65536));

/** Number of the format of a data folder. A folder of another format is refused. */
export const FOLDER_FORMAT = 7;

/** The record with the position of the log that LevelDB covers. */
export const sealCheckpoint = (covered: number): Buffer => seal(covered, CHECKPOINT, FOLDER_FORMAT);

/** @throws CorruptRecord */
export function openCheckpoint(bytes: Buffer): number {
  const covered = unseal(bytes, CHECKPOINT, FOLDER_FORMAT);
  if (!isCount(covered)) throw corrupt(CHECKPOINT, 'malformed', 'expected a position of the log');
  return covered;
}

/** A timestamp, timestamps by name, or a text. */
export const META_VALUE: Kind<MetaValue> = {
  encode: (content) => content,
  decode: (raw) => {
    if (isTimestamp(raw) || typeof raw === 'string') return raw;
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw) || !Object.values(raw).every(isTimestamp)) {
      throw new MalformedMessage('expected timestamps by name, or a text');
    }
    return raw as MetaValue;
  },
};

/** Sizes of a partition, kept in step with its records by being in the same batches. */
export interface Counters {
  /** Keys with a head on disk. */
  readonly keys: number;
  readonly versions: number;
  /** Keys with more than one version, or a tombstone: garbage collection may have to visit them. */
  readonly untidy: number;
  /** The key at which the collector's slow walk over all keys goes on. */
  readonly cursor: string;
}

const count: Kind<number> = {
  encode: (n) => n,
  decode: (raw) => {
    if (!isCount(raw)) throw new MalformedMessage('expected a count');
    return raw;
  },
};

export const COUNTERS: Kind<Counters> = struct<Counters>({
  keys: count,
  versions: count,
  untidy: count,
  cursor: text(65536),
});
