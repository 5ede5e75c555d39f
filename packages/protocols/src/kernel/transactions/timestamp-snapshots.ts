/** The common part of protocols whose snapshots are one timestamp, the same in every region (PaRiS, BPR, NoCC). */
import { IsochronError, type PartitionId, type RegionId, type Timestamp, type WallMs } from '@isochron/core';
import type { NodeState } from '../node-state.js';
import { type Snapshot, type SnapshotRules, TOO_OLD } from './snapshots.js';

export abstract class TimestampSnapshots implements SnapshotRules {
  constructor(readonly state: NodeState) {}

  abstract assign(seen: Snapshot, now: WallMs): Snapshot | undefined;

  abstract confirm(at: Snapshot, now: WallMs, seen: Timestamp): Snapshot | undefined;

  abstract observeSnapshot(snapshot: Snapshot): void;

  abstract invariants(): void;

  oldest({ ts }: Snapshot): Timestamp {
    return ts;
  }

  newest({ ts }: Snapshot): Timestamp {
    return ts;
  }

  depsOf(): undefined {}

  stamp(): undefined {}

  /** Any replica on a member has the snapshot, or waits for it (P10). */
  sources(partition: PartitionId): readonly RegionId[] {
    return this.state.topology.memberRegions(partition, this.state.region);
  }
}

/** @throws IsochronError `SNAPSHOT_TOO_OLD` for a named snapshot that reaches below the collected versions (P9) */
export function refuseCollected(oldest: Timestamp, { stable }: NodeState): void {
  if (oldest < stable.gcFloor) throw new IsochronError(TOO_OLD.code, TOO_OLD.detail);
}
