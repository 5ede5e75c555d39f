/** The records of transactions that a replica takes back. */
import type { AppliedRecord, DurableRecord, LogGroup, PartitionId, QualifiedKey, RegionId } from '@isochron/core';
import type { Loss } from './losses.js';

/**
 * Takes back the rest of a transaction after the loss of a disk (D10). The log keeps an entry without writes, so that
 * peers without the transaction drop it too.
 *
 * @param keys its keys on the partition
 * @param region the region that committed it
 * @param log where it stands in the partition's log
 */
export function recordsOfTakingBack(
  partition: PartitionId,
  { txId, ts }: Pick<Loss, 'txId' | 'ts'>,
  keys: readonly QualifiedKey[],
  region: RegionId,
  log: AppliedRecord['log'],
): DurableRecord[] {
  const removals = keys.map((key): DurableRecord => ({ kind: 'remove', partition, key, ts, txId }));
  if (log === 'none') return removals;
  return [...removals, { kind: 'applied', partition, ct: ts, tx: { txId, writes: [] }, region, log }];
}

/** Groups without the writes of a transaction at a timestamp. */
export const without = (groups: readonly LogGroup[], { txId, ts }: Pick<Loss, 'txId' | 'ts'>): LogGroup[] =>
  groups.map((group) => (group.ct === ts ? { ...group, txs: group.txs.filter((tx) => tx.txId !== txId) } : group));
