/** Vectors with one entry for each region, in the order of the cluster file. */
import type { Deps, RegionId, Timestamp, Topology } from '@isochron/core';
import type { NodeState } from '../node-state.js';
import { entrywiseMin } from '../replication/regional-times.js';
import type { Replication } from '../replication/replication.js';
import type { Wait } from '../waiting.js';

/** Whether every entry of `a` is at or below the same one of `b`. */
export const covered = (a: Deps, b: Deps): boolean => a.every((ts, i) => ts <= b[i]!);

/** A vector with one entry replaced. */
export const withEntry = (vector: Deps, at: number, ts: Timestamp): Deps =>
  vector.map((before, i) => (i === at ? ts : before));

/** What a node's replicas have, durably, of each region. */
export const installed = (replicas: readonly Replication[], { topology }: { readonly topology: Topology }): Deps =>
  entrywiseMin(replicas.map(({ vv }) => topology.regions.map((region) => vv.durable(region))));

/**
 * The aggregated times (GSS, USV), but at least UST, which every replica has: a restarted node knows nothing else of
 * its region yet, and the versions that it shows must include everything below UST (P9).
 */
export const stableEntries = ({ regional, stable }: NodeState): Deps =>
  regional.entries.map((ts) => Math.max(ts, stable.aggregated));

/**
 * What a replica still lacks of remote versions up to a vector. No node claims more than it has as long as no disk is
 * lost; after a loss, the replica waits until earlier claims are true again.
 */
export function lacksRemote(upTo: Deps, { vv, state }: Replication): Wait | undefined {
  const { topology, region } = state;
  const lacks = (other: RegionId, i: number) => other !== region && vv.durable(other) < upTo[i]!;
  return topology.regions.some(lacks) ? 'later' : undefined;
}
