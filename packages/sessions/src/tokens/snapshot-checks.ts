/** The checks of snapshots that callers name. */
import { type Deps, IsochronError, isTimestamp, packWall, type WallMs } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';

/** Checks the snapshots that callers name, before machines that do not check them get them. */
export class SnapshotChecks {
  constructor(
    /** Entries that a snapshot has beside its timestamp, under the cluster's protocol. */
    readonly entries: number,
    readonly maxClockDriftMs: number,
  ) {}

  /** Whether these are the entries of a snapshot: as many as the protocol has, or none. */
  fits(deps: readonly unknown[] | undefined): deps is Deps | undefined {
    return deps === undefined || (deps.length === this.entries && this.entries > 0 && deps.every(isTimestamp));
  }

  /** @throws IsochronError `TIMESTAMP_IN_FUTURE` */
  refuseFuture(claimed: Snapshot, now: WallMs, what: string): void {
    refuseFuture(this.maxClockDriftMs, claimed, now, what);
  }
}

/**
 * T1 for what a client claims: at most half the cluster's drift limit ahead of this node's wall clock.
 * @throws IsochronError `TIMESTAMP_IN_FUTURE`
 */
export function refuseFuture(maxClockDriftMs: number, { ts, deps = [] }: Snapshot, now: WallMs, what: string): void {
  const maxAheadMs = maxClockDriftMs / 2;
  const limit = packWall(now + maxAheadMs);
  if (ts <= limit && deps.every((entry) => entry <= limit)) return;
  throw new IsochronError('TIMESTAMP_IN_FUTURE', `${what} names a time more than ${maxAheadMs} ms ahead.`);
}
