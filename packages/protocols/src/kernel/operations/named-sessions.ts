/** Dependencies that name keys, in a session: how they are merged, and what a session has seen beside them. */
import type { Dependency, Deps, Timestamp } from '@isochron/core';

/**
 * Two lists without repetition: of each key and region the newest. An older one of the same region is on its way before
 * it, in the same stream. A dependency is a nearest one only where both lists have it as one.
 */
export function mergeDependencies(a: readonly Dependency[], b: readonly Dependency[]): readonly Dependency[] {
  const merged = new Map<string, Dependency>();
  for (const dependency of [...a, ...b]) {
    const name = `${dependency.source}/${dependency.key}`;
    const before = merged.get(name);
    if (before === undefined || before.ts < dependency.ts || (before.ts === dependency.ts && !dependency.near)) {
      merged.set(name, dependency);
    }
  }
  return [...merged.values()];
}

/** Those that a horizon has not passed. */
export const above = (depends: readonly Dependency[], horizon: Timestamp): readonly Dependency[] =>
  depends.filter(({ ts }) => ts > horizon);

/** Parts of what a session has seen, under these protocols. */
export interface SeenParts {
  /** The highest timestamp that it has read or written. */
  readonly highest: Timestamp;
  /** Dependencies up to here are not needed any more. */
  readonly horizon: Timestamp;
  /** The clock of the node that has answered. */
  readonly clock: Timestamp;
}

export const seenPartsOf = ([highest = 0, horizon = 0, clock = 0]: Deps): SeenParts => ({ highest, horizon, clock });
export const seenOf = ({ highest, horizon, clock }: SeenParts): Deps => [highest, horizon, clock];
