/**
 * Batches as records of the durable log: one MessagePack array for each, which begins with the number of the format. A
 * part that repeats an earlier record (a prepare, a log entry) is packed as a reference: a value is in the log once,
 * however many records carry it.
 */
import {
  content,
  type DurableRecord,
  IsochronError,
  isTimestamp,
  type KeyWrite,
  MalformedMessage,
  nullable,
  optional,
  type PartitionId,
  type PreparedRecord,
  type StoredVersion,
  type Timestamp,
  type TxId,
  text,
  timestamp,
  uint,
} from '@isochron/core';
import { Packr } from 'msgpackr';
import { ByTransaction } from './by-transaction.js';
import { CorruptRecord, reasonOf, unknownFormat } from './failure.js';
import { horizonOf } from './horizons.js';
import {
  type EntryName,
  type EntryRecord,
  LoggedEntries,
  type StoredEntry,
  type VersionRecord,
} from './logged-entries.js';
import { flattenVersion, LOGGED, META_VALUE, OUTCOME, PREPARED, versionsIn } from './records.js';

type OutcomeRecordOf = Extract<DurableRecord, { kind: 'outcome' }>;
type MetaRecord = Extract<DurableRecord, { kind: 'meta' }>;

const packr = new Packr({ useRecords: false });
/** Number of the format of a packed batch. */
const FORMAT = 2;

/** The first element of each packed record. */
const TAG = {
  remove: 2,
  prepared: 3,
  outcome: 4,
  log: 5,
  /** A log entry with the writes of the transaction as it was prepared. */
  logOfPrepared: 6,
  /** An outcome with the digest of the transaction as it was prepared. */
  outcomeOfPrepared: 11,
  truncateLog: 7,
  collect: 8,
  forget: 9,
  meta: 10,
  /** Versions that one transaction wrote on a partition. */
  versions: 12,
  /** The same, where they repeat all writes of a log entry, which may be in an earlier batch. */
  versionsOfEntry: 13,
  /** The outcome of a transaction that committed with a log entry of the same batch. */
  outcomeOfEntry: 14,
  confirmLog: 15,
} as const;

/**
 * Packs the batches of one log, and unpacks them again. A record may refer to a prepared transaction or a log entry:
 * one of the batches that were packed or unpacked before, in the order of the log, or one that is there where the log
 * begins.
 */
export class LogRecords {
  readonly #prepared = new ByTransaction<PreparedRecord>();
  readonly #entries: LoggedEntries;

  /** @param stored log entries where the log begins */
  constructor(stored: StoredEntry = () => undefined) {
    this.#entries = new LoggedEntries(stored);
  }

  /** Adds a transaction that is prepared where the log begins; null removes it. */
  prepared(partition: PartitionId, txId: TxId, record: PreparedRecord | null): void {
    if (record === null) this.#prepared.delete(partition, txId);
    else this.#prepared.set(partition, txId, record);
  }

  /** The replication log of a partition is truncated at and below a timestamp. */
  truncated(partition: PartitionId, upTo: Timestamp): void {
    this.#entries.truncate(partition, upTo);
  }

  /** The record of the next batch. */
  pack(records: readonly DurableRecord[]): Uint8Array {
    this.#entries.limit();
    this.#entries.nextBatch();
    const packed: unknown[] = [FORMAT];
    for (let i = 0; i < records.length; ) {
      const record = records[i]!;
      if (record.kind !== 'version') {
        packed.push(this.#encode(record));
        i++;
        continue;
      }
      const versions = versionsFrom(records, record, i);
      packed.push(this.#encodeVersions(versions));
      i += versions.length;
    }
    return packr.pack(packed);
  }

  /**
   * The next batch.
   * @throws CorruptRecord when the record is no batch, or one of a format that this version does not know;
   * IsochronError `STORAGE_FAILED` when a log entry that it refers to cannot be read
   */
  unpack(bytes: Uint8Array): DurableRecord[] {
    try {
      // A copy: bytes values are views of it, and must not keep a whole segment alive.
      const packed: unknown = packr.unpack(Buffer.from(bytes));
      if (!Array.isArray(packed)) throw new MalformedMessage('expected a list of records');
      if (typeof packed[0] !== 'number') throw new MalformedMessage('expected the number of a format');
      if (packed[0] !== FORMAT) throw unknownFormat('A record of the log', packed[0], FORMAT);
      this.#entries.nextBatch();
      return packed.slice(1).flatMap((raw) => this.#decode(raw));
    } catch (error) {
      if (error instanceof CorruptRecord ? error.record?.kind !== 'unknown' : error instanceof IsochronError)
        throw error;
      throw new CorruptRecord(null, 'malformed', `A record of the log is damaged: ${reasonOf(error)}`, error);
    }
  }

  #encodeVersions(versions: readonly VersionRecord[]): unknown[] {
    const { partition, key, version } = versions[0]!;
    if (this.#entries.takeRepeated(versions))
      return [TAG.versionsOfEntry, partition, version.ts, version.txId, version.region];
    const flat: unknown[] = [TAG.versions, partition, key];
    flattenVersion(flat, version);
    for (let i = 1; i < versions.length; i++) flat.push(versions[i]!.key, content.encode(versions[i]!.version.value));
    return flat;
  }

  #encode(record: Exclude<DurableRecord, VersionRecord>): unknown[] {
    switch (record.kind) {
      case 'remove':
        return [TAG.remove, record.partition, record.key, record.ts, record.txId];
      case 'prepared': {
        const { partition, txId } = record;
        this.prepared(partition, txId, record.record);
        if (record.record === null) return [TAG.prepared, partition, this.#nameOf(partition, txId), null];
        return [TAG.prepared, partition, txId, PREPARED.encode(record.record)];
      }
      case 'outcome':
        return this.#encodeOutcome(record);
      case 'log':
        return this.#encodeEntry(record);
      case 'truncateLog':
        this.truncated(record.partition, record.upTo);
        return withOptional([TAG.truncateLog, record.partition, record.upTo], record.bytes);
      case 'confirmLog':
        return [TAG.confirmLog, record.partition, record.upTo];
      case 'collect':
        return [TAG.collect, record.partition, record.floor];
      case 'forget':
        return [TAG.forget, record.partition, record.upTo];
      case 'meta':
        this.#meta(record);
        return [TAG.meta, record.name, META_VALUE.encode(record.value)];
    }
  }

  #encodeOutcome({ partition, txId, record }: OutcomeRecordOf): unknown[] {
    const { status, ts, attempt, digest } = record;
    const isPrepared = digest !== null && digest === this.#prepared.get(partition, txId)?.digest;
    const number = this.#entries.numberOf(partition, txId);
    if (number !== undefined && status === 'committed' && ts === this.#entries.entryOf(number)!.ct)
      return [TAG.outcomeOfEntry, number, attempt, isPrepared ? AS_PREPARED : digest];
    if (!isPrepared) return [TAG.outcome, partition, number ?? txId, OUTCOME.encode(record)];
    return [TAG.outcomeOfPrepared, partition, number ?? txId, OUTCOME.encode({ status, ts, attempt, digest: null })];
  }

  #encodeEntry(record: EntryRecord): unknown[] {
    this.#entries.add(record);
    const { partition, ct, tx, source } = record;
    const isPrepared = this.#prepared.get(partition, tx.txId)?.writes === tx.writes;
    const logged = LOGGED.encode(isPrepared ? { ...tx, writes: NO_WRITES } : tx);
    return withOptional([isPrepared ? TAG.logOfPrepared : TAG.log, partition, ct, tx.txId, logged], source);
  }

  /** The packed id of a transaction: the number of its entry in the batch if it has one, which is shorter. */
  #nameOf(partition: PartitionId, txId: TxId): number | TxId {
    return this.#entries.numberOf(partition, txId) ?? txId;
  }

  /** The id of the transaction that a packed id names. */
  #txIdOf(raw: unknown): TxId {
    return this.#entries.entryOf(raw)?.tx.txId ?? name.decode(raw);
  }

  /** A horizon may be kept as a meta value, too. */
  #meta({ name, value }: MetaRecord): void {
    const found = horizonOf(name);
    if (found?.horizon === 'logTruncatedUpTo' && typeof value === 'number') this.truncated(found.partition, value);
  }

  #decode(raw: unknown): DurableRecord | DurableRecord[] {
    if (!Array.isArray(raw)) throw new MalformedMessage('expected a record');
    const [tag, first, second, third, fourth, fifth] = raw as unknown[];
    switch (tag) {
      case TAG.versions:
        return decodeVersions(raw);
      case TAG.versionsOfEntry: {
        const [partition, ct, txId] = [partitionOf(first), timestamp.decode(second), name.decode(third)];
        return this.#entries.takeVersions(partition, ct, txId, name.decode(fourth));
      }
      case TAG.remove: {
        const [partition, key] = [partitionOf(first), name.decode(second)];
        return { kind: 'remove', partition, key, ts: timestamp.decode(third), txId: name.decode(fourth) };
      }
      case TAG.prepared: {
        const [partition, txId] = [partitionOf(first), this.#txIdOf(second)];
        const record = third === null ? null : PREPARED.decode(third);
        this.prepared(partition, txId, record);
        return { kind: 'prepared', partition, txId, record };
      }
      case TAG.outcome:
      case TAG.outcomeOfPrepared: {
        const [partition, txId] = [partitionOf(first), this.#txIdOf(second)];
        const outcome = OUTCOME.decode(third);
        if (tag === TAG.outcome) return { kind: 'outcome', partition, txId, record: outcome };
        const { digest } = this.#preparedAs(partition, txId);
        return { kind: 'outcome', partition, txId, record: { ...outcome, digest } };
      }
      case TAG.outcomeOfEntry:
        return this.#decodeOutcomeOfEntry(this.#entries.entryOf(first), uint.decode(second), third);
      case TAG.log:
      case TAG.logOfPrepared: {
        const [partition, ct, txId] = [partitionOf(first), timestamp.decode(second), name.decode(third)];
        const logged = LOGGED.decode(fourth);
        const writes = tag === TAG.log ? logged.writes : this.#preparedAs(partition, txId).writes;
        const tx = { txId, ...logged, writes };
        const entry: EntryRecord = { kind: 'log', partition, ct, tx, source: optional(name).decode(fifth) };
        this.#entries.add(entry);
        return entry;
      }
      case TAG.truncateLog: {
        const [partition, upTo] = [partitionOf(first), timestamp.decode(second)];
        this.truncated(partition, upTo);
        return { kind: 'truncateLog', partition, upTo, bytes: optional(timestamp).decode(third) };
      }
      case TAG.confirmLog:
        return { kind: 'confirmLog', partition: partitionOf(first), upTo: timestamp.decode(second) };
      case TAG.collect:
        return { kind: 'collect', partition: partitionOf(first), floor: timestamp.decode(second) };
      case TAG.forget:
        return { kind: 'forget', partition: partitionOf(first), upTo: timestamp.decode(second) };
      case TAG.meta: {
        const record: MetaRecord = { kind: 'meta', name: name.decode(first), value: META_VALUE.decode(second) };
        this.#meta(record);
        return record;
      }
      default:
        throw new MalformedMessage(`expected a record, and not one of kind ${String(tag)}`);
    }
  }

  #decodeOutcomeOfEntry(entry: EntryRecord | undefined, attempt: number, raw: unknown): DurableRecord {
    if (entry === undefined) throw new MalformedMessage('expected the number of a log entry');
    const { partition, ct, tx } = entry;
    const digest = raw === AS_PREPARED ? this.#preparedAs(partition, tx.txId).digest : DIGEST.decode(raw);
    return { kind: 'outcome', partition, txId: tx.txId, record: { status: 'committed', ts: ct, attempt, digest } };
  }

  #preparedAs(partition: PartitionId, txId: TxId): PreparedRecord {
    const prepared = this.#prepared.get(partition, txId);
    if (prepared === undefined) throw new MalformedMessage(`expected that transaction ${txId} is prepared`);
    return prepared;
  }
}

/**
 * The log entries that a packed batch refers to, in this batch or before. None if the batch is damaged, which `unpack`
 * reports.
 */
export function entriesNamedIn(bytes: Uint8Array): EntryName[] {
  try {
    const packed: unknown = packr.unpack(bytes);
    return Array.isArray(packed) ? packed.flatMap((raw) => nameIn(raw) ?? []) : [];
  } catch {
    return [];
  }
}

function nameIn(raw: unknown): EntryName | undefined {
  const [tag, partition, ct, txId]: unknown[] = Array.isArray(raw) ? raw : [];
  if (tag !== TAG.versionsOfEntry) return undefined;
  return { partition: partitionOf(partition), ct: timestamp.decode(ct), txId: name.decode(txId) };
}

/** The versions from an index on that one transaction wrote on one partition. */
function versionsFrom(records: readonly DurableRecord[], first: VersionRecord, from: number): VersionRecord[] {
  const { partition, version } = first;
  const versions = [first];
  for (let i = from + 1; i < records.length; i++) {
    const next = records[i]!;
    if (next.kind !== 'version' || next.partition !== partition || !isOfSameWrite(next.version, version)) break;
    versions.push(next);
  }
  return versions;
}

const isOfSameWrite = (a: StoredVersion, b: StoredVersion): boolean =>
  a.txId === b.txId &&
  a.ts === b.ts &&
  a.region === b.region &&
  a.deps === b.deps &&
  a.depends === b.depends &&
  a.siblings === b.siblings;

/** A partition, a key and its version, then further keys and values of the same transaction. */
function decodeVersions(raw: readonly unknown[]): VersionRecord[] {
  const partition = partitionOf(raw[1]);
  const end = Array.isArray(raw[FIRST_VERSION_END]) ? FIRST_VERSION_END + 1 : FIRST_VERSION_END;
  if ((raw.length - end) % 2 !== 0) throw new MalformedMessage('expected a value behind each key');
  const version = versionsIn(raw.slice(3, end), 0, ENTRY)[0]!;
  const versions: VersionRecord[] = [{ kind: 'version', partition, key: name.decode(raw[2]), version }];
  for (let i = end; i < raw.length; i += 2) {
    const value = content.decode(raw[i + 1]);
    versions.push({ kind: 'version', partition, key: name.decode(raw[i]), version: { ...version, value } });
  }
  return versions;
}

/** Index behind the elements of the first version, without its dependencies and siblings. */
const FIRST_VERSION_END = 7;
/** The digest of an outcome, when it is that of the prepared transaction. */
const AS_PREPARED = true;
const DIGEST = nullable(text(1024));
/** The elements of a record, and one more if it is there. */
const withOptional = (elements: unknown[], last: unknown): unknown[] =>
  last === undefined ? elements : [...elements, last];

const NO_WRITES: readonly KeyWrite[] = [];
const ENTRY = 'in a record of the log';
const name = text(65536);
/** Disk keys hold partitions in four digits of base 36. */
const MAX_PARTITION = 36 ** 4;

function partitionOf(raw: unknown): PartitionId {
  if (!isTimestamp(raw) || raw >= MAX_PARTITION) throw new MalformedMessage('expected a partition');
  return raw;
}
