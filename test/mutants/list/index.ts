import type { Mutant } from '../mutant.js';
import { CLOCK_MUTANTS } from './clock.js';
import { COMMIT_MUTANTS } from './commit.js';
import { REPLICATION_MUTANTS } from './replication.js';
import { SNAPSHOT_MUTANTS } from './snapshots.js';

export { VARIANTS } from './variants.js';

/** All breakages. */
export const MUTANTS: readonly Mutant[] = [
  ...CLOCK_MUTANTS,
  ...COMMIT_MUTANTS,
  ...REPLICATION_MUTANTS,
  ...SNAPSHOT_MUTANTS,
];
