import type { Deps, RegionId, Timestamp, Topology, Version } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';

/**
 * What the snapshots of a protocol show, after its paper. Checks compare with it what replicas answer and what clients see; the code
 * of the machines has no part in it.
 */
export interface Visibility {
  /** Whether a snapshot shows a version, unless a newer one hides it. */
  shows(snapshot: Snapshot, version: Version): boolean;
  /** Its lowest entry: what replicas have collected must lie below. */
  lowest(snapshot: Snapshot): Timestamp;
  /** Whether a session that has seen one snapshot may be given another one. */
  follows(before: Snapshot, snapshot: Snapshot): boolean;
  /** What the versions of a commit depend on, given what its cohorts have prepared and from which region. */
  stamp(deps: Deps | undefined, ct: Timestamp, region: RegionId): Deps | undefined;
  /** What a version depends on stays in the region that made it: other regions, and copies that come back from there, have none of it. */
  readonly localDeps?: boolean;
}

/** The same, where it takes the regions to tell. */
export type VisibilityIn = (topology: Topology) => Visibility;

/** Snapshots that are one timestamp: everything up to it, from anywhere. */
export const UP_TO_A_TIMESTAMP: Visibility = {
  shows: ({ ts }, version) => version.ts <= ts,
  lowest: ({ ts }) => ts,
  follows: (before, { ts }) => ts >= before.ts,
  stamp: (deps) => deps,
};
