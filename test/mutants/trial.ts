/** Trials: runs of the simulator, in other processes, with changes of the code. */
import type { FailureKind, Plan } from '@isochron/sim';
import type { Profile } from './mutant.js';
import type { Change } from './test-build.js';

/** One run: a seed of the simulator, with or without a profile, a plan in a file, or a scenario in a text file. */
export type Run =
  | { readonly seed: number; readonly protocol?: string; readonly profile?: Profile }
  | { readonly plan: string }
  | { readonly script: string };

/** What to run. */
export interface Runs {
  readonly runs: readonly Run[];
  /** Ends with the first run that fails. */
  readonly untilCaught: boolean;
  /** Failures that do not count. */
  readonly ignored: readonly FailureKind[];
  /** How long to shrink the plan of a failed run, in ms; the result then has the smaller plan. */
  readonly shrinkMs?: number;
}

/** Runs on a build with changes. */
export interface Trial extends Runs {
  readonly changes: readonly Change[];
}

/** A trial as a worker receives it: its changes are switches. */
export interface TrialRequest extends Runs {
  readonly switches: readonly number[];
}

/** A failure that a check reported. */
export interface Notice {
  readonly check: string;
  readonly kind: FailureKind;
  readonly message: string;
}

/** A failed run, and its failures in the order in which checks reported them. */
export interface Caught {
  readonly run: Run;
  /** The simulator's seed. */
  readonly seed?: number;
  readonly by: readonly [Notice, ...Notice[]];
  /** The smaller plan, if the trial asks for one. */
  readonly plan?: Plan;
}

export interface TrialResult {
  /** How many runs there were. */
  readonly tried: number;
  readonly caught: readonly Caught[];
  /** Whether patched code of every change ran. */
  readonly hasRun: boolean;
}
