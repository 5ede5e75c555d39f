/** What of that which sessions have seen may come from outside. */
import { type Deps, IsochronError, isTimestamp, packWall, Topology, type WallMs } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import { type ClusterConfig, clusterSpec } from '../config/cluster-file.js';
import { servedTransactions } from '../node/protocols.js';

/** Whether two say the same. */
export function sameSnapshot(a: Snapshot, b: Snapshot): boolean {
  if (a.ts !== b.ts || a.deps?.length !== b.deps?.length) return false;
  return a.deps === b.deps || (a.deps ?? []).every((entry, i) => entry === b.deps![i]);
}

/** Judges what callers say of snapshots: it goes to machines that take it as true. */
export class SnapshotChecks {
  /** Entries that a snapshot has beside its timestamp, under the cluster's protocol. */
  readonly entries: number;

  constructor(readonly config: ClusterConfig) {
    this.entries = servedTransactions(config.protocol).entries(new Topology(clusterSpec(config)));
  }

  /** Whether these are the entries of a snapshot: as many as the protocol has, or none. */
  fits(deps: readonly unknown[] | undefined): deps is Deps | undefined {
    return deps === undefined || (deps.length === this.entries && this.entries > 0 && deps.every(isTimestamp));
  }

  /** @throws IsochronError `TIMESTAMP_IN_FUTURE` */
  refuseFuture(claimed: Snapshot, now: WallMs, what: string): void {
    refuseFuture(this.config, claimed, now, what);
  }
}

/**
 * T1 for what a client claims: at most half the cluster's drift limit ahead of this node's wall clock.
 * @throws IsochronError `TIMESTAMP_IN_FUTURE`
 */
export function refuseFuture(
  { settings }: ClusterConfig,
  { ts, deps = [] }: Snapshot,
  now: WallMs,
  what: string,
): void {
  const maxAheadMs = settings.maxClockDriftMs / 2;
  const limit = packWall(now + maxAheadMs);
  if (ts <= limit && deps.every((entry) => entry <= limit)) return;
  throw new IsochronError('TIMESTAMP_IN_FUTURE', `${what} names a time more than ${maxAheadMs} ms ahead.`);
}
