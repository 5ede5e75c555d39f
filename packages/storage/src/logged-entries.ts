/** The entries of the replication log that records of the durable log refer to. */
import {
  type DurableRecord,
  type LoggedTx,
  MalformedMessage,
  type PartitionId,
  type Timestamp,
  type TxId,
} from '@isochron/core';
import { ByTransaction } from './by-transaction.js';
import { logEntry } from './log-entries.js';

/** The record of a log entry. */
export type EntryRecord = Extract<DurableRecord, { kind: 'log' }>;
/** The record of a version. */
export type VersionRecord = Extract<DurableRecord, { kind: 'version' }>;

/** The name of a log entry. */
export interface EntryName {
  readonly partition: PartitionId;
  readonly ct: Timestamp;
  readonly txId: TxId;
}

/** The log entry that the disk holds at the position where the log begins. */
export type StoredEntry = (partition: PartitionId, ct: Timestamp, txId: TxId) => LoggedTx | undefined;

/** Entries that may wait for their versions, by their estimated size. */
const WAITING_BYTES = 8 * 1024 * 1024;

/** An entry in its batch. */
interface Logged {
  readonly entry: EntryRecord;
  readonly bytes: number;
  readonly batch: number;
  readonly number: number;
}

/**
 * The log entries whose writes no version has repeated yet, in the order of the durable log, and those of the present
 * batch by number. A truncated entry is not among them: LevelDB may have dropped it.
 */
export class LoggedEntries {
  readonly #waiting = new ByTransaction<Logged>();
  /** Estimated size of the entries that wait. */
  #bytes = 0;
  readonly #truncatedUpTo: Timestamp[] = [];
  #ofBatch: Logged[] = [];
  #batch = 0;

  constructor(readonly stored: StoredEntry) {}

  /** Numbers refer to a new batch from now on. */
  nextBatch(): void {
    this.#batch++;
    this.#ofBatch = [];
  }

  add(entry: EntryRecord): void {
    const { partition, ct, tx } = entry;
    const { bytes } = logEntry(entry);
    const logged: Logged = { entry, bytes, batch: this.#batch, number: this.#ofBatch.length };
    this.#ofBatch.push(logged);
    this.#drop(partition, tx.txId);
    if (ct <= (this.#truncatedUpTo[partition] ?? 0)) return;
    this.#waiting.set(partition, tx.txId, logged);
    this.#bytes += bytes;
  }

  /**
   * Drops all entries when they are large together: without truncation, those whose versions never come would fill the
   * memory. Only for a log that is written: what is read may refer to each of them.
   */
  limit(): void {
    if (this.#bytes <= WAITING_BYTES) return;
    this.#waiting.clear();
    this.#bytes = 0;
  }

  #drop(partition: PartitionId, txId: TxId): void {
    this.#bytes -= this.#waiting.get(partition, txId)?.bytes ?? 0;
    this.#waiting.delete(partition, txId);
  }

  /** The log of a partition is truncated at and below a timestamp. */
  truncate(partition: PartitionId, upTo: Timestamp): void {
    if (upTo <= (this.#truncatedUpTo[partition] ?? 0)) return;
    this.#truncatedUpTo[partition] = upTo;
    for (const [txId, { entry }] of this.#waiting.of(partition)) if (entry.ct <= upTo) this.#drop(partition, txId);
  }

  /**
   * Whether versions of one transaction repeat all writes of its entry in their order. The entry is used up then: no
   * other versions may refer to it.
   */
  takeRepeated(versions: readonly VersionRecord[]): boolean {
    const { partition, version } = versions[0]!;
    const entry = this.#waiting.get(partition, version.txId)?.entry;
    if (entry === undefined || !repeats(versions, entry)) return false;
    this.#drop(partition, version.txId);
    return true;
  }

  /**
   * The versions that repeat all writes of an entry.
   * @throws MalformedMessage without such an entry
   */
  takeVersions(partition: PartitionId, ct: Timestamp, txId: TxId, region: string): VersionRecord[] {
    const waiting = this.#waiting.get(partition, txId)?.entry;
    const isWaiting = waiting?.ct === ct;
    if (isWaiting) this.#drop(partition, txId);
    const tx = isWaiting ? waiting.tx : this.stored(partition, ct, txId);
    if (tx === undefined) throw new MalformedMessage(`expected that transaction ${txId} is in the replication log`);
    return tx.writes.map((_, i) => versionOf({ kind: 'log', partition, ct, tx }, i, region));
  }

  /** Number of a transaction's entry in the present batch. */
  numberOf(partition: PartitionId, txId: TxId): number | undefined {
    const logged = this.#waiting.get(partition, txId);
    return logged?.batch === this.#batch ? logged.number : undefined;
  }

  /** The entry of a transaction, if the present batch has it under this number. */
  entryOf(number: unknown): EntryRecord | undefined {
    return typeof number === 'number' ? this.#ofBatch[number]?.entry : undefined;
  }
}

/** The version of a write of an entry. */
function versionOf({ partition, ct, tx }: EntryRecord, write: number, region: string): VersionRecord {
  const { txId, deps, depends, siblings } = tx;
  const { key, value } = tx.writes[write]!;
  return { kind: 'version', partition, key, version: { ts: ct, txId, region, value, deps, depends, siblings } };
}

function repeats(versions: readonly VersionRecord[], { ct, tx }: EntryRecord): boolean {
  const { ts, deps, depends, siblings } = versions[0]!.version;
  if (ts !== ct || versions.length !== tx.writes.length) return false;
  if (deps !== tx.deps || depends !== tx.depends || siblings !== tx.siblings) return false;
  return tx.writes.every(({ key, value }, i) => key === versions[i]!.key && value === versions[i]!.version.value);
}
