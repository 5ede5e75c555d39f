import type { Snapshot } from './snapshots.js';

/** Of two snapshots of one timestamp each, the one that contains the other. */
export const newerOf = (seen: Snapshot, more: Snapshot): Snapshot => (more.ts > seen.ts ? more : seen);
