import type { Snapshot } from '@isochron/protocols';

/** The text of a snapshot for people; different snapshots have different texts. */
export const textOfSnapshot = ({ ts, deps }: Snapshot): string =>
  deps === undefined ? String(ts) : `${ts} [${deps.join(' ')}]`;

/** Whether two snapshots name the same versions. */
export const isSameSnapshot = (a: Snapshot, b: Snapshot): boolean =>
  a.ts === b.ts && (a.deps === b.deps || textOfSnapshot(a) === textOfSnapshot(b));
