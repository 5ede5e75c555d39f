/** The two ways in which replicas find the versions of a snapshot. */
import {
  type Belongs,
  type ListPage,
  type ListRange,
  MAX_TIMESTAMP,
  type PartitionId,
  type QualifiedKey,
  type ReadNeeds,
  type Version,
  type VersionReader,
} from '@isochron/core';
import type { ReadRules, Snapshot } from './snapshots.js';

type Finding = Omit<ReadRules, 'obstacle'>;

/** By one timestamp: `ts <= snapshot`. */
export function byTimestamp(partition: PartitionId, reader: VersionReader): Finding {
  return {
    read: (key: QualifiedKey, { ts }: Snapshot): Version | undefined => reader.read(partition, key, ts),
    newest: (key: QualifiedKey): Version | undefined => reader.read(partition, key, MAX_TIMESTAMP),
    list: (range: ListRange, { ts }: Snapshot): ListPage => reader.list(partition, range, ts),
    needs: (keys: readonly QualifiedKey[]): ReadNeeds => ({ kind: 'keys', partition, keys }),
    needsOfList: (range: ListRange, { ts }: Snapshot): ReadNeeds => ({ kind: 'list', partition, range, snapshot: ts }),
  };
}

/** By a rule of the protocol: any version of a key may be the freshest that belongs. */
export function byRule(
  partition: PartitionId,
  reader: VersionReader,
  belongsTo: (snapshot: Snapshot) => Belongs,
): Finding {
  return {
    read: (key, snapshot) => reader.find(partition, key, belongsTo(snapshot)),
    newest: (key) => reader.find(partition, key, () => true),
    list: (range, snapshot) => reader.list(partition, range, belongsTo(snapshot)),
    needs: (keys) => ({ kind: 'chains', partition, keys }),
    needsOfList: (range) => ({ kind: 'list', partition, range, snapshot: 'any' }),
  };
}
