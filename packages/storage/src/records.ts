/**
 * Values of LevelDB records: a CRC-32 and a MessagePack array without field names. LevelDB does not verify its own checksums
 * on reads, so every record carries one: a damaged record is an error, never a wrong answer.
 */
import * as zlib from 'node:zlib';
import {
  compareVersions,
  isTimestamp,
  type KeyWrite,
  type Kind,
  list,
  MalformedMessage,
  type MetaValue,
  nullable,
  type OutcomeRecord,
  oneOf,
  type PreparedRecord,
  struct,
  text,
  timestamp,
  uint,
  type Value,
  type Version,
  value,
} from '@isochron/core';
import { Packr } from 'msgpackr';
import { crc32Portable } from './crc32.js';
import { damaged, reasonOf } from './failure.js';

/** Node 20 has it from 20.15 on. */
const crc32: (bytes: Uint8Array) => number = typeof zlib.crc32 === 'function' ? zlib.crc32 : crc32Portable;

const packr = new Packr({ useRecords: false });
const CHECKSUM_BYTES = 4;
/** msgpackr's RESERVE_START_SPACE: leaves room for the checksum, so that nothing is copied. */
const WITH_ROOM = 2048 + CHECKSUM_BYTES;
const PAYLOAD = { start: CHECKSUM_BYTES };

/** Packs a record. The result may share memory with others: hand it to LevelDB in the same tick or copy it. */
export function seal(payload: unknown): Buffer {
  const bytes = packr.pack(payload, WITH_ROOM);
  bytes.writeUInt32LE(crc32(bytes.subarray(CHECKSUM_BYTES)), 0);
  return bytes;
}

/** Checks and unpacks a record. */
export function unseal(bytes: Buffer, name: string): unknown {
  if (bytes.length <= CHECKSUM_BYTES) throw damaged(name, 'it is cut short');
  if (bytes.readUInt32LE(0) !== crc32(bytes.subarray(CHECKSUM_BYTES))) throw damaged(name, 'its checksum is wrong');
  try {
    return packr.unpack(bytes, PAYLOAD);
  } catch (error) {
    throw damaged(name, reasonOf(error));
  }
}

/** The newest versions of a key, oldest first, and which segments hold the older ones. */
export interface Head {
  /** Numbers of the segments, oldest first; none when `first > last`. */
  readonly first: number;
  readonly last: number;
  /** Versions in all segments together. */
  readonly tailCount: number;
  readonly versions: Version[];
}

const VERSION_FIELDS = 4;
const HEAD_FIELDS = 3;

/** Packs `versions[from]` and all after it behind the head's own fields. */
export function sealHead(head: Head, from: number): Buffer {
  return sealVersions([head.first, head.last, head.tailCount], head.versions, from);
}

export const sealSegment = (versions: readonly Version[]): Buffer => sealVersions([], versions, 0);

function sealVersions(flat: unknown[], versions: readonly Version[], from: number): Buffer {
  for (let i = from; i < versions.length; i++) {
    const version = versions[i]!;
    flat.push(version.ts, version.txId, version.region, version.value);
  }
  return seal(flat);
}

export function openHead(bytes: Buffer, name: string): Head {
  const flat = unsealFlat(bytes, name);
  const [first, last, tailCount] = flat;
  if (!isCount(first) || !Number.isSafeInteger(last) || !isCount(tailCount))
    throw damaged(name, 'its head is malformed');
  return { first, last: last as number, tailCount, versions: versionsIn(flat, HEAD_FIELDS, name) };
}

export const openSegment = (bytes: Buffer, name: string): Version[] => versionsIn(unsealFlat(bytes, name), 0, name);

const isCount = (raw: unknown): raw is number => Number.isSafeInteger(raw) && (raw as number) >= 0;

function unsealFlat(bytes: Buffer, name: string): unknown[] {
  const flat = unseal(bytes, name);
  if (!Array.isArray(flat)) throw damaged(name, 'it is not a list');
  return flat;
}

/** One string per region in memory, however many records name it. */
const regions = new Map<string, string>();

function versionsIn(flat: unknown[], from: number, name: string): Version[] {
  const count = (flat.length - from) / VERSION_FIELDS;
  if (!Number.isInteger(count) || count < 1) throw damaged(name, 'it holds no whole version');
  const versions = new Array<Version>(count);
  for (let i = 0, at = from; i < count; i++, at += VERSION_FIELDS) {
    const version = versionOf(flat[at], flat[at + 1], flat[at + 2], flat[at + 3]);
    if (version === undefined) throw damaged(name, 'a version is malformed');
    if (i > 0 && compareVersions(versions[i - 1]!, version) >= 0) throw damaged(name, 'its versions are out of order');
    versions[i] = version;
  }
  return versions;
}

function versionOf(ts: unknown, txId: unknown, region: unknown, content: unknown): Version | undefined {
  if (!isTimestamp(ts) || typeof txId !== 'string' || typeof region !== 'string') return undefined;
  if (content !== null && typeof content !== 'string' && !(content instanceof Uint8Array)) return undefined;
  let shared = regions.get(region);
  if (shared === undefined) {
    shared = region;
    if (regions.size < 1024) regions.set(region, region);
  }
  return { ts, txId, region: shared, value: content as Value | null };
}

/** Packs a value by its description, see core's `schema.ts`. */
export const sealAs = <T>(kind: Kind<T>, content: T): Buffer => seal(kind.encode(content));

/** Checks, unpacks and validates a record. */
export function openAs<T>(kind: Kind<T>, bytes: Buffer, name: string): T {
  const raw = unseal(bytes, name);
  try {
    return kind.decode(raw);
  } catch (error) {
    if (error instanceof MalformedMessage) throw damaged(name, error.message);
    throw error;
  }
}

const write: Kind<KeyWrite> = struct<KeyWrite>({ key: text(65536), value: nullable(value) });
/** The writes of one logged transaction. */
export const WRITES: Kind<readonly KeyWrite[]> = list(write);

export const OUTCOME: Kind<OutcomeRecord> = struct<OutcomeRecord>({
  status: oneOf('committed', 'aborted'),
  ts: timestamp,
  attempt: uint,
  digest: nullable(text(1024)),
});

export const PREPARED: Kind<PreparedRecord> = struct<PreparedRecord>({
  pt: timestamp,
  home: text(1024),
  attempt: uint,
  birth: timestamp,
  epoch: uint,
  cohorts: list(uint),
  digest: text(1024),
  coordinator: text(1024),
  writes: WRITES,
});

/** A timestamp, or timestamps by name. */
export const META_VALUE: Kind<MetaValue> = {
  encode: (content) => content,
  decode: (raw) => {
    if (isTimestamp(raw)) return raw;
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw) || !Object.values(raw).every(isTimestamp)) {
      throw new MalformedMessage('expected timestamps by name');
    }
    return raw as MetaValue;
  },
};

/** Sizes of a partition, kept in step with its records by being in the same batches. */
export interface Counters {
  /** Keys with a head on disk. */
  readonly keys: number;
  readonly versions: number;
  /** Keys with more than one version, or a tombstone: what garbage collection may have to visit. */
  readonly untidy: number;
  /** Where the collector's slow walk over all keys goes on. */
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
