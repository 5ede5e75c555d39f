import type { Deps, Topology } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { Visibility } from '../checks/evidence/visibility.js';

/** Whether every entry of `a` is at or below the same one of `b`. */
export const isWithin = (a: Deps, b: Deps): boolean => a.every((ts, i) => ts <= b[i]!);

/**
 * Cure: snapshots and versions have an entry for each region, in the order of the cluster. A version depends on
 * everything that its transaction's snapshot shows, and on itself. A timestamp alone has all entries at once.
 */
export function vectorVisibility({ regions }: Topology): Visibility {
  const entriesOf = ({ ts, deps }: Snapshot): Deps => deps ?? regions.map(() => ts);
  return {
    shows: (snapshot, version) => isWithin(entriesOf(version), entriesOf(snapshot)),
    lowest: (snapshot) => Math.min(...entriesOf(snapshot)),
    follows: (before, snapshot) => isWithin(entriesOf(before), entriesOf(snapshot)),
    stamp: (deps = [], ct, source) => regions.map((region, i) => (region === source ? ct : (deps[i] ?? 0))),
  };
}
