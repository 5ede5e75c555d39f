/** The checks of snapshots that callers name. */
import { type Deps, IsochronError, isTimestamp, type Timestamp } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';

/** Checks the snapshots that callers name, before machines that do not check them get them. */
export class SnapshotChecks {
  constructor(
    /** Entries that a snapshot has beside its timestamp, under the cluster's protocol. */
    readonly entries: number,
  ) {}

  /** Whether these are the entries of a snapshot: as many as the protocol has, or none. */
  fits(deps: readonly unknown[] | undefined): deps is Deps | undefined {
    return deps === undefined || (deps.length === this.entries && this.entries > 0 && deps.every(isTimestamp));
  }

  /** @throws IsochronError `TIMESTAMP_IN_FUTURE` */
  refuseFuture(claimed: Snapshot, latest: Timestamp, what: string): void {
    refuseFuture(latest, claimed, what);
  }
}

/**
 * T1 for a client's claims.
 * @param latest the latest timestamp that a client may name at this node
 * @throws IsochronError `TIMESTAMP_IN_FUTURE`
 */
export function refuseFuture(latest: Timestamp, { ts, deps = [] }: Snapshot, what: string): void {
  if (ts <= latest && deps.every((entry) => entry <= latest)) return;
  throw new IsochronError('TIMESTAMP_IN_FUTURE', `${what} names a time that lies too far ahead.`);
}
