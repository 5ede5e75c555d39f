import type { Snapshot } from '@isochron/protocols';

/** A snapshot as people read it; different ones differ. */
export const textOfSnapshot = ({ ts, deps }: Snapshot): string =>
  deps === undefined ? String(ts) : `${ts} [${deps.join(' ')}]`;

/** Whether two name the same versions. */
export const isSameSnapshot = (a: Snapshot, b: Snapshot): boolean =>
  a.ts === b.ts && (a.deps === b.deps || textOfSnapshot(a) === textOfSnapshot(b));
