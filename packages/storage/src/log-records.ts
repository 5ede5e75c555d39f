/**
 * Batches as records of the durable log: one MessagePack array for each, which begins with the number of the format. A
 * part that repeats the batch itself, or a prepared transaction, is packed as a reference: a value is in the log once,
 * however many records carry it.
 */
import {
  type DurableRecord,
  isTimestamp,
  type KeyWrite,
  MalformedMessage,
  type PartitionId,
  type PreparedRecord,
  type StoredVersion,
  type TxId,
  text,
  timestamp,
  uint,
} from '@isochron/core';
import { Packr } from 'msgpackr';
import { CorruptRecord, reasonOf } from './failure.js';
import { flattenVersion, LOGGED, META_VALUE, OUTCOME, PREPARED, versionsIn } from './records.js';

const packr = new Packr({ useRecords: false });
/** Number of the format of a packed batch. */
const FORMAT = 1;

/** The first element of each packed record. Retired numbers stay reserved. */
const TAG = {
  version: 0,
  /** A version that repeats a write of a log entry in the same batch. */
  versionOfEntry: 1,
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
} as const;

type Entry = Extract<DurableRecord, { kind: 'log' }>;
type VersionRecord = Extract<DurableRecord, { kind: 'version' }>;

/** Log entries of one batch in their order, with the number of writes that versions have repeated. */
class Entries {
  readonly #all: { readonly entry: Entry; repeated: number }[] = [];
  readonly #numbers = new Map<string, number>();

  add(entry: Entry): void {
    this.#numbers.set(nameOf(entry.partition, entry.tx.txId), this.#all.push({ entry, repeated: 0 }) - 1);
  }

  /** Number of the entry whose next write a version repeats; undefined without such an entry. */
  repeatedBy({ partition, key, version }: VersionRecord): number | undefined {
    if (this.#all.length === 0) return undefined;
    const number = this.#numbers.get(nameOf(partition, version.txId));
    const found = number === undefined ? undefined : this.#all[number]!;
    if (found === undefined) return undefined;
    const { tx, ct } = found.entry;
    const write = tx.writes[found.repeated];
    if (write === undefined || write.key !== key || write.value !== version.value || ct !== version.ts)
      return undefined;
    const { deps, depends, siblings } = tx;
    if (deps !== version.deps || depends !== version.depends || siblings !== version.siblings) return undefined;
    found.repeated++;
    return number;
  }

  /** The packed id of a transaction: the number of its entry if it has one, which is shorter. */
  nameOf(partition: PartitionId, txId: TxId): number | TxId {
    return this.#numbers.get(nameOf(partition, txId)) ?? txId;
  }

  /** The id of the transaction that a packed id names. */
  txIdOf(raw: unknown): TxId {
    const entry = typeof raw === 'number' ? this.#all[raw]?.entry : undefined;
    return entry === undefined ? name.decode(raw) : entry.tx.txId;
  }

  /** The version that repeats the next write of an entry. */
  next(number: number, region: string): VersionRecord {
    const found = this.#all[number];
    const write = found?.entry.tx.writes[found.repeated++];
    if (found === undefined || write === undefined) throw new MalformedMessage('expected a write of a log entry');
    const { entry } = found;
    const { txId, deps, depends, siblings } = entry.tx;
    const version: StoredVersion = { ts: entry.ct, txId, region, value: write.value, deps, depends, siblings };
    return { kind: 'version', partition: entry.partition, key: write.key, version };
  }
}

const nameOf = (partition: PartitionId, txId: TxId): string => `${partition}/${txId}`;

/**
 * Packs the batches of one log, and unpacks them again. A record may refer to a prepared transaction: one of the
 * batches that were packed or unpacked before, in the order of the log, or one that was prepared where the log begins.
 */
export class LogRecords {
  readonly #prepared = new Map<string, PreparedRecord>();

  /** Adds a transaction that is prepared where the log begins; null removes it. */
  prepared(partition: PartitionId, txId: TxId, record: PreparedRecord | null): void {
    const name = nameOf(partition, txId);
    if (record === null) this.#prepared.delete(name);
    else this.#prepared.set(name, record);
  }

  /** The record of the next batch. */
  pack(records: readonly DurableRecord[]): Uint8Array {
    const entries = new Entries();
    const packed: unknown[] = [FORMAT];
    for (const record of records) packed.push(this.#encode(record, entries));
    return packr.pack(packed);
  }

  /**
   * The next batch.
   * @throws CorruptRecord when the record is no batch, or one of a format that this version does not know
   */
  unpack(bytes: Uint8Array): DurableRecord[] {
    try {
      // A copy: bytes values are views of it, and must not keep a whole segment alive.
      const packed: unknown = packr.unpack(Buffer.from(bytes));
      if (!Array.isArray(packed)) throw new MalformedMessage('expected a list of records');
      if (packed[0] !== FORMAT) throw unknownFormat(packed[0]);
      const entries = new Entries();
      return packed.slice(1).map((raw) => this.#decode(raw, entries));
    } catch (error) {
      if (error instanceof CorruptRecord && error.record === null) throw error;
      throw new CorruptRecord(null, 'malformed', `A record of the log is damaged: ${reasonOf(error)}`, error);
    }
  }

  #encode(record: DurableRecord, entries: Entries): unknown[] {
    switch (record.kind) {
      case 'version': {
        const number = entries.repeatedBy(record);
        if (number !== undefined) return [TAG.versionOfEntry, number, record.version.region];
        const flat: unknown[] = [TAG.version, record.partition, record.key];
        flattenVersion(flat, record.version);
        return flat;
      }
      case 'remove':
        return [TAG.remove, record.partition, record.key, record.ts, record.txId];
      case 'prepared': {
        const { partition, txId } = record;
        this.prepared(partition, txId, record.record);
        if (record.record === null) return [TAG.prepared, partition, entries.nameOf(partition, txId), null];
        return [TAG.prepared, partition, txId, PREPARED.encode(record.record)];
      }
      case 'outcome': {
        const { partition, txId } = record;
        const { status, ts, attempt, digest } = record.record;
        const id = entries.nameOf(partition, txId);
        if (digest === null || digest !== this.#prepared.get(nameOf(partition, txId))?.digest)
          return [TAG.outcome, partition, id, OUTCOME.encode(record.record)];
        return [TAG.outcomeOfPrepared, partition, id, OUTCOME.encode({ status, ts, attempt, digest: null })];
      }
      case 'log':
        return this.#encodeEntry(record, entries);
      case 'truncateLog':
        return [TAG.truncateLog, record.partition, record.upTo];
      case 'collect':
        return [TAG.collect, record.partition, record.floor];
      case 'forget':
        return [TAG.forget, record.partition, record.upTo];
      case 'meta':
        return [TAG.meta, record.name, META_VALUE.encode(record.value)];
    }
  }

  #encodeEntry(record: Entry, entries: Entries): unknown[] {
    entries.add(record);
    const { partition, ct, tx } = record;
    const isPrepared = this.#prepared.get(nameOf(partition, tx.txId))?.writes === tx.writes;
    const content = LOGGED.encode(isPrepared ? { ...tx, writes: NO_WRITES } : tx);
    return [isPrepared ? TAG.logOfPrepared : TAG.log, partition, ct, tx.txId, content];
  }

  #decode(raw: unknown, entries: Entries): DurableRecord {
    if (!Array.isArray(raw)) throw new MalformedMessage('expected a record');
    const [tag, first, second, third, fourth] = raw as unknown[];
    switch (tag) {
      case TAG.version: {
        const [version, ...others] = versionsIn(raw, 3, ENTRY);
        if (version === undefined || others.length > 0) throw new MalformedMessage('expected one version');
        return { kind: 'version', partition: partitionOf(first), key: name.decode(second), version };
      }
      case TAG.versionOfEntry:
        return entries.next(uint.decode(first), name.decode(second));
      case TAG.remove: {
        const [partition, key] = [partitionOf(first), name.decode(second)];
        return { kind: 'remove', partition, key, ts: timestamp.decode(third), txId: name.decode(fourth) };
      }
      case TAG.prepared: {
        const [partition, txId] = [partitionOf(first), entries.txIdOf(second)];
        const record = third === null ? null : PREPARED.decode(third);
        this.prepared(partition, txId, record);
        return { kind: 'prepared', partition, txId, record };
      }
      case TAG.outcome:
      case TAG.outcomeOfPrepared: {
        const [partition, txId] = [partitionOf(first), entries.txIdOf(second)];
        const outcome = OUTCOME.decode(third);
        if (tag === TAG.outcome) return { kind: 'outcome', partition, txId, record: outcome };
        const { digest } = this.#preparedAs(partition, txId);
        return { kind: 'outcome', partition, txId, record: { ...outcome, digest } };
      }
      case TAG.log:
      case TAG.logOfPrepared: {
        const [partition, ct, txId] = [partitionOf(first), timestamp.decode(second), name.decode(third)];
        const content = LOGGED.decode(fourth);
        const writes = tag === TAG.log ? content.writes : this.#preparedAs(partition, txId).writes;
        const entry: Entry = { kind: 'log', partition, ct, tx: { txId, ...content, writes } };
        entries.add(entry);
        return entry;
      }
      case TAG.truncateLog:
        return { kind: 'truncateLog', partition: partitionOf(first), upTo: timestamp.decode(second) };
      case TAG.collect:
        return { kind: 'collect', partition: partitionOf(first), floor: timestamp.decode(second) };
      case TAG.forget:
        return { kind: 'forget', partition: partitionOf(first), upTo: timestamp.decode(second) };
      case TAG.meta:
        return { kind: 'meta', name: name.decode(first), value: META_VALUE.decode(second) };
      default:
        throw new MalformedMessage(`expected a record, and not one of kind ${String(tag)}`);
    }
  }

  #preparedAs(partition: PartitionId, txId: TxId): PreparedRecord {
    const prepared = this.#prepared.get(nameOf(partition, txId));
    if (prepared === undefined) throw new MalformedMessage(`expected that transaction ${txId} is prepared`);
    return prepared;
  }
}

const NO_WRITES: readonly KeyWrite[] = [];
const ENTRY = 'in a record of the log';
const name = text(65536);
/** Disk keys hold partitions in four digits of base 36. */
const MAX_PARTITION = 36 ** 4;

function partitionOf(raw: unknown): PartitionId {
  if (!isTimestamp(raw) || raw >= MAX_PARTITION) throw new MalformedMessage('expected a partition');
  return raw;
}

function unknownFormat(format: unknown): CorruptRecord {
  const message = `A record of the log has format ${String(format)}, and this version of Isochron reads ${FORMAT}`;
  return new CorruptRecord(null, typeof format === 'number' ? 'version' : 'malformed', message);
}
