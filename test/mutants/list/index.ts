import type { Mutant } from '../mutant.js';
import { ACCESS_MUTANTS } from './access.js';
import { AVAILABILITY_MUTANTS } from './availability.js';
import { CHANGES_MUTANTS } from './changes.js';
import { CLIENT_MUTANTS } from './client.js';
import { CLOCK_MUTANTS } from './clock.js';
import { COMMIT_MUTANTS } from './commit.js';
import { DISK_MUTANTS } from './disks.js';
import { FAMILY_MUTANTS } from './family.js';
import { LIVE_MUTANTS } from './live.js';
import { MAP_MUTANTS } from './maps.js';
import { NAMED_MUTANTS } from './named.js';
import { OPERATION_MUTANTS } from './operations.js';
import { ORBE_MUTANTS } from './orbe.js';
import { OUTCOME_MUTANTS } from './outcomes.js';
import { REPLICATION_MUTANTS } from './replication.js';
import { SESSION_MUTANTS } from './sessions.js';
import { SNAPSHOT_MUTANTS } from './snapshots.js';
import { STABLE_MUTANTS } from './stable.js';
import { UPDATE_MUTANTS } from './updates.js';

export { VARIANTS } from './variants.js';

/** All mutants. */
export const MUTANTS: readonly Mutant[] = [
  ...CLOCK_MUTANTS,
  ...COMMIT_MUTANTS,
  ...REPLICATION_MUTANTS,
  ...SNAPSHOT_MUTANTS,
  ...UPDATE_MUTANTS,
  ...CHANGES_MUTANTS,
  ...LIVE_MUTANTS,
  ...ACCESS_MUTANTS,
  ...FAMILY_MUTANTS,
  ...OPERATION_MUTANTS,
  ...NAMED_MUTANTS,
  ...ORBE_MUTANTS,
  ...STABLE_MUTANTS,
  ...MAP_MUTANTS,
  ...SESSION_MUTANTS,
  ...AVAILABILITY_MUTANTS,
  ...DISK_MUTANTS,
  ...CLIENT_MUTANTS,
  ...OUTCOME_MUTANTS,
];
