/** Dependencies that name keys, in a session: how they are merged, and the timestamps beside them. */
import type { Dependency, Deps, Timestamp } from '@isochron/core';

/**
 * Two lists without repetition: the newest of each key and region. An older one of the same region arrives before it,
 * in the same stream. A dependency is a nearest one only if both lists have it as one.
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

/** The dependencies above a horizon. */
export const above = (depends: readonly Dependency[], horizon: Timestamp): readonly Dependency[] =>
  depends.filter(({ ts }) => ts > horizon);

/** The parts of a session's `seen`, under these protocols. */
export interface SeenParts {
  /** The highest timestamp that it has read or written. */
  readonly highest: Timestamp;
  /** Dependencies up to here are not needed any more. */
  readonly horizon: Timestamp;
  /** The clock of the node that answered. */
  readonly clock: Timestamp;
}

export const seenPartsOf = ([highest = 0, horizon = 0, clock = 0]: Deps): SeenParts => ({ highest, horizon, clock });
export const seenOf = ({ highest, horizon, clock }: SeenParts): Deps => [highest, horizon, clock];
