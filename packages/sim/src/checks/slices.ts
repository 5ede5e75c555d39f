/** Transactions as the records on disks show them. */
import type { Deps, DurableRecord, KeyWrite, LoggedTx, PartitionId, RegionId, Timestamp, TxId } from '@isochron/core';

/** What a transaction writes on one partition. */
export interface Slice {
  readonly region: RegionId;
  readonly writes: readonly KeyWrite[];
  /** Of all its versions there, in the region that made them. */
  readonly deps: Deps | undefined;
  /** The same, as it travels. */
  readonly sent: Deps | undefined;
}

/** One attempt of a transaction, as prepare records show it. */
export interface Attempt {
  readonly cohorts: readonly PartitionId[];
  readonly prepared: Map<PartitionId, Prepared>;
}

/** A transaction that is committed. */
export interface Committed {
  readonly txId: TxId;
  readonly ct: Timestamp;
  readonly attempt: number;
  /** When it became so. */
  readonly atMs: number;
  readonly slices: ReadonlyMap<PartitionId, Slice>;
}

/** Of an outcome that comes without its writes. */
export const NOTHING: Pick<LoggedTx, 'writes' | 'deps' | 'siblings'> = { writes: [], deps: undefined };
/** What a replica has prepared is the same everywhere. */
export type Prepared = Omit<Slice, 'sent'> & { readonly pt: Timestamp };

/** A transaction's log entry in a batch. */
export function loggedIn(records: readonly DurableRecord[], partition: PartitionId, txId: TxId): LoggedTx | undefined {
  for (const record of records)
    if (record.kind === 'log' && record.partition === partition && record.tx.txId === txId) return record.tx;
  return undefined;
}

/** What the version depends on that a batch with a transaction's outcome writes. */
export function writtenWith(records: readonly DurableRecord[], partition: PartitionId, txId: TxId): Deps | undefined {
  for (const record of records)
    if (record.kind === 'version' && record.partition === partition && record.version.txId === txId)
      return record.version.deps;
  return undefined;
}
