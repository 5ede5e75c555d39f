/**
 * Batches as records of the durable log: one MessagePack array for each, which begins with the number of the format. A
 * transaction that is applied after a prepare names the prepare: its writes and its needs are in the log once.
 */
import {
  type AppliedRecord,
  type DurableRecord,
  HORIZONS,
  IsochronError,
  invariant,
  isTimestamp,
  type KeyWrite,
  list,
  MalformedMessage,
  nullable,
  optional,
  type PartitionId,
  type PreparedRecord,
  struct,
  type TxId,
  text,
  timestamp,
  uint,
} from '@isochron/core';
import { Packr } from 'msgpackr';
import { CorruptRecord, reasonOf, unknownFormat } from '../failure.js';
import { flattenVersion, LOGGED, META_VALUE, OUTCOME, PREPARED, versionsIn } from '../level/records.js';
import { ByTransaction } from '../memory/by-transaction.js';

const packr = new Packr({ useRecords: false });
/** Number of the format of a packed batch. */
const FORMAT = 4;

/** The first element of each packed record. */
const TAG = {
  version: 0,
  remove: 1,
  prepared: 2,
  outcome: 3,
  applied: 4,
  /** An own transaction with the writes and the outcome of its prepare. */
  appliedPrepared: 5,
  horizon: 6,
  meta: 7,
} as const;

/**
 * Packs the batches of one log, and unpacks them again. A record may refer to a prepared transaction: the prepare is in
 * a batch that was packed or unpacked before, in the order of the log, or on the disk where the log begins.
 */
export class LogRecords {
  readonly #prepared = new ByTransaction<PreparedRecord>();

  /** Adds a transaction that is prepared where the log begins; null removes it. */
  prepared(partition: PartitionId, txId: TxId, record: PreparedRecord | null): void {
    if (record === null) this.#prepared.delete(partition, txId);
    else this.#prepared.set(partition, txId, record);
  }

  /** The record of the next batch. */
  pack(records: readonly DurableRecord[]): Uint8Array {
    const packed: unknown[] = [FORMAT];
    for (const record of records) packed.push(this.#encode(record));
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
      if (typeof packed[0] !== 'number') throw new MalformedMessage('expected the number of a format');
      if (packed[0] !== FORMAT) throw unknownFormat('A record of the log', packed[0], FORMAT);
      return packed.slice(1).map((raw) => this.#decode(raw));
    } catch (error) {
      if (error instanceof CorruptRecord ? error.record?.kind !== 'unknown' : error instanceof IsochronError)
        throw error;
      throw new CorruptRecord(null, 'malformed', `A record of the log is damaged: ${reasonOf(error)}`, error);
    }
  }

  #encode(record: DurableRecord): unknown[] {
    switch (record.kind) {
      case 'applied':
        return this.#encodeApplied(record);
      case 'version': {
        const flat: unknown[] = [TAG.version, record.partition, record.key];
        flattenVersion(flat, record.version);
        return flat;
      }
      case 'remove':
        return [TAG.remove, record.partition, record.key, record.ts, record.txId];
      case 'prepared': {
        const { partition, txId } = record;
        this.prepared(partition, txId, record.record);
        return [TAG.prepared, partition, txId, PREPARED_OR_NONE.encode(record.record)];
      }
      case 'outcome':
        return [TAG.outcome, record.partition, record.txId, OUTCOME.encode(record.record)];
      case 'horizon': {
        const { partition, horizon, upTo, bytes } = record;
        return withOptional([TAG.horizon, partition, HORIZONS.indexOf(horizon), upTo], bytes);
      }
      case 'meta':
        return [TAG.meta, record.name, META_VALUE.encode(record.value)];
    }
  }

  #encodeApplied({ partition, ct, tx, region, log, outcome, localDeps, prepared }: AppliedRecord): unknown[] {
    if (!prepared) {
      const kept = KEPT_OUTCOME.encode(outcome ?? null);
      const whole = [TAG.applied, partition, ct, tx.txId, LOGGED.encode(tx), region, PLACES.indexOf(log), kept];
      return withOptional(whole, localDeps);
    }
    const from = this.#takePrepared(partition, tx.txId);
    invariant(log === 'own' && localDeps === undefined && outcome?.digest === from.digest, 'as it was prepared');
    return [
      TAG.appliedPrepared,
      partition,
      ct,
      tx.txId,
      LOGGED.encode({ ...tx, writes: NO_WRITES, needs: undefined }),
      region,
    ];
  }

  #decode(raw: unknown): DurableRecord {
    if (!Array.isArray(raw)) throw new MalformedMessage('expected a record');
    const [tag, first, second, third, fourth, fifth, sixth, seventh, eighth] = raw as unknown[];
    switch (tag) {
      case TAG.applied: {
        const [log, outcome, localDeps] = [PLACES[uint.decode(sixth)], KEPT_OUTCOME.decode(seventh), eighth];
        if (log === undefined) throw new MalformedMessage('expected a place in the log');
        const applied = decodeApplied(first, second, third, fourth, fifth);
        return { ...applied, log, outcome: outcome ?? undefined, localDeps: LOCAL_DEPS.decode(localDeps) };
      }
      case TAG.appliedPrepared: {
        const applied = decodeApplied(first, second, third, fourth, fifth);
        const { writes, needs, attempt, digest } = this.#takePrepared(applied.partition, applied.tx.txId);
        const tx = needs === undefined ? { ...applied.tx, writes } : { ...applied.tx, writes, needs };
        return { ...applied, tx, log: 'own', outcome: { attempt, digest }, prepared: true };
      }
      case TAG.version: {
        const [partition, key] = [partitionOf(first), name.decode(second)];
        const versions = versionsIn(raw.slice(3), 0, ENTRY);
        if (versions.length !== 1) throw new MalformedMessage('expected one version');
        return { kind: 'version', partition, key, version: versions[0]! };
      }
      case TAG.remove: {
        const [partition, key] = [partitionOf(first), name.decode(second)];
        return { kind: 'remove', partition, key, ts: timestamp.decode(third), txId: name.decode(fourth) };
      }
      case TAG.prepared: {
        const [partition, txId, record] = [partitionOf(first), name.decode(second), PREPARED_OR_NONE.decode(third)];
        this.prepared(partition, txId, record);
        return { kind: 'prepared', partition, txId, record };
      }
      case TAG.outcome:
        return {
          kind: 'outcome',
          partition: partitionOf(first),
          txId: name.decode(second),
          record: OUTCOME.decode(third),
        };
      case TAG.horizon: {
        const [partition, horizon, upTo] = [partitionOf(first), HORIZONS[uint.decode(second)], timestamp.decode(third)];
        if (horizon === undefined) throw new MalformedMessage('expected a horizon');
        return { kind: 'horizon', partition, horizon, upTo, bytes: optional(timestamp).decode(fourth) };
      }
      case TAG.meta:
        return { kind: 'meta', name: name.decode(first), value: META_VALUE.decode(second) };
      default:
        throw new MalformedMessage(`expected a record, and not one of kind ${String(tag)}`);
    }
  }

  /** The prepare of a transaction, which ends. */
  #takePrepared(partition: PartitionId, txId: TxId): PreparedRecord {
    const prepared = this.#prepared.get(partition, txId);
    if (prepared === undefined) throw new MalformedMessage(`expected that transaction ${txId} is prepared`);
    this.#prepared.delete(partition, txId);
    return prepared;
  }
}

/** The part that both forms of an applied transaction have. */
function decodeApplied(
  partition: unknown,
  ct: unknown,
  txId: unknown,
  logged: unknown,
  region: unknown,
): Omit<AppliedRecord, 'log'> {
  return {
    kind: 'applied',
    partition: partitionOf(partition),
    ct: timestamp.decode(ct),
    tx: { txId: name.decode(txId), ...LOGGED.decode(logged) },
    region: text(1024).decode(region),
  };
}

/** Places of a transaction in the partition's log, by number. */
const PLACES: readonly AppliedRecord['log'][] = ['own', 'received', 'none'];
const PREPARED_OR_NONE = nullable(PREPARED);
const LOCAL_DEPS = optional(list(timestamp));
const KEPT_OUTCOME = nullable(
  struct<{ readonly attempt: number; readonly digest: string | null }>({
    attempt: uint,
    digest: nullable(text(1024)),
  }),
);
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
