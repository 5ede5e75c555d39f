/** The input and the result of a process that tries runs. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FailureKind, Plan } from '@isochron/sim';
import { ROOT } from '../e2e/processes.js';
import type { Patch, Profile } from './mutant.js';
import { bundleWith } from './test-build.js';

/** One run: a seed of the simulator, with or without a profile, a plan in a file, or a scenario in a text file. */
export type Run =
  | { readonly seed: number; readonly protocol?: string; readonly profile?: Profile }
  | { readonly plan: string }
  | { readonly script: string };

/** Runs on a build with patches. */
export interface Trial {
  readonly patches: readonly Patch[];
  readonly runs: readonly Run[];
  /** Ends with the first run that fails. */
  readonly untilCaught: boolean;
  /** Failures that do not count. */
  readonly ignored: readonly FailureKind[];
  /** How long to shrink the plan of a failed run, in ms; the result then has the smaller plan. */
  readonly shrinkMs?: number;
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
}

const PROCESS = join(ROOT, 'test/dist/mutants/trial-process.js');
const execute = promisify(execFile);

/**
 * Runs a trial in a process of its own, so that a patch never meets other code.
 * @throws Error with the output of the process when it fails
 */
export async function runTrial(trial: Trial): Promise<TrialResult> {
  const code = await bundleWith(trial.patches, PROCESS);
  const running = execute(process.execPath, ['--input-type=module', '-', JSON.stringify(trial)], {
    cwd: ROOT,
    maxBuffer: 2 ** 26,
  });
  running.child.stdin?.end(code);
  try {
    return JSON.parse((await running).stdout) as TrialResult;
  } catch (error) {
    throw new Error(`A trial failed: ${(error as { stderr?: string }).stderr ?? ''}`, { cause: error });
  }
}
