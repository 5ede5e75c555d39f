import type { Deps, RegionId, StoredVersion, Timestamp, Topology } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';

/**
 * The versions that the snapshots of a protocol show, after its paper. Checks compare the replicas' answers and the
 * clients' reads with it; it shares no code with the machines.
 */
export interface Visibility {
  /** Whether a snapshot shows a version, unless a newer one hides it. */
  shows(snapshot: Snapshot, version: StoredVersion): boolean;
  /** Its lowest entry: collected versions must lie below it. */
  lowest(snapshot: Snapshot): Timestamp;
  /** Whether a session that has seen one snapshot may be given another one. */
  follows(before: Snapshot, snapshot: Snapshot): boolean;
  /** The dependencies of a commit's versions, given the prepared ones of its cohorts and their region. */
  stamp(deps: Deps | undefined, ct: Timestamp, region: RegionId): Deps | undefined;
  /**
   * Dependencies stay in the region that made the version: other regions, and copies that come back from there, do not
   * have them.
   */
  readonly localDeps?: boolean;
}

/** The same, given the regions. */
export type VisibilityIn = (topology: Topology) => Visibility;

/** Snapshots that are one timestamp: everything up to it, from anywhere. */
export const UP_TO_A_TIMESTAMP: Visibility = {
  shows: ({ ts }, version) => version.ts <= ts,
  lowest: ({ ts }) => ts,
  follows: (before, { ts }) => ts >= before.ts,
  stamp: (deps) => deps,
};
