/** The records of transactions that a replica applies or takes back. */
import type {
  DurableRecord,
  LogGroup,
  LoggedTx,
  PartitionId,
  QualifiedKey,
  RegionId,
  StoredVersion,
  Timestamp,
  TxId,
} from '@isochron/core';
import type { Loss } from './losses.js';

/** The versions that a transaction of a region writes. */
export function versionsOf(
  { txId, writes, deps, depends, siblings }: LoggedTx,
  ts: Timestamp,
  region: RegionId,
): { readonly key: QualifiedKey; readonly version: StoredVersion }[] {
  return writes.map(({ key, value }) => ({ key, version: { ts, txId, region, value, deps, depends, siblings } }));
}

/**
 * The outcome of a transaction whose request may be repeated, on a replica that received it: its cohort may lose its
 * disk (D5, D10).
 */
export const outcomeOf = (partition: PartitionId, txId: TxId, ts: Timestamp): DurableRecord => {
  const record = { status: 'committed' as const, ts, attempt: 0, digest: null };
  return { kind: 'outcome', partition, txId, record };
};

/**
 * Takes back the rest of a transaction after the loss of a disk (D10). In the log it stays as one without writes: peers
 * that lack it follow.
 *
 * @param keys its keys on the partition
 * @param logged whether it is in the partition's own log
 */
export function recordsOfTakingBack(
  partition: PartitionId,
  { txId, ts }: Pick<Loss, 'txId' | 'ts'>,
  keys: readonly QualifiedKey[],
  logged: boolean,
): DurableRecord[] {
  const removals = keys.map((key): DurableRecord => ({ kind: 'remove', partition, key, ts, txId }));
  return logged ? [...removals, { kind: 'log', partition, ct: ts, tx: { txId, writes: [] } }] : removals;
}

/** Groups without the writes of a transaction at a timestamp. */
export const without = (groups: readonly LogGroup[], { txId, ts }: Pick<Loss, 'txId' | 'ts'>): LogGroup[] =>
  groups.map((group) => (group.ct === ts ? { ...group, txs: group.txs.filter((tx) => tx.txId !== txId) } : group));
