/** Transactions as the records on disks show them. */
import type { Deps, DurableFact, KeyWrite, LoggedTx, PartitionId, RegionId, Timestamp, TxId } from '@isochron/core';

/** The writes of a transaction on one partition. */
export interface Slice {
  readonly region: RegionId;
  readonly writes: readonly KeyWrite[];
  /** Dependencies of all its versions there, in the region that made them. */
  readonly deps: Deps | undefined;
  /** The same, as they travel. */
  readonly sent: Deps | undefined;
}

/** One attempt of a transaction, as prepare records show it. */
export interface PreparedAttempt {
  readonly cohorts: readonly PartitionId[];
  readonly prepared: Map<PartitionId, Prepared>;
}

/** A transaction that is committed. */
export interface CommittedTx {
  readonly txId: TxId;
  readonly ct: Timestamp;
  readonly attempt: number;
  /** When it became committed. */
  readonly atMs: number;
  readonly slices: ReadonlyMap<PartitionId, Slice>;
}

/** The content of an outcome that comes without its writes. */
export const NOTHING: Pick<LoggedTx, 'writes' | 'deps' | 'siblings'> = { writes: [], deps: undefined };
/** A prepared slice, which is the same everywhere. */
export type Prepared = Omit<Slice, 'sent'> & { readonly pt: Timestamp };

/** A transaction's log entry in a batch. */
export function loggedIn(records: readonly DurableFact[], partition: PartitionId, txId: TxId): LoggedTx | undefined {
  for (const record of records)
    if (record.kind === 'log' && record.partition === partition && record.tx.txId === txId) return record.tx;
  return undefined;
}

/** The dependencies of the version in a batch with a transaction's outcome. */
export function writtenWith(records: readonly DurableFact[], partition: PartitionId, txId: TxId): Deps | undefined {
  for (const record of records)
    if (record.kind === 'version' && record.partition === partition && record.version.txId === txId)
      return record.version.deps;
  return undefined;
}
