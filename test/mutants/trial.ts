/** What a process that tries runs is asked, and what it answers. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FailureKind, Plan } from '@isochron/sim';
import { ROOT } from '../e2e/processes.js';
import type { Patch, Profile } from './mutant.js';

/** One run: a seed of the simulator, perhaps with a profile, a plan in a file, or a scenario as text, in a file as well. */
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
  /** Makes the plan of a run that failed smaller for so long, and gives it back (ms). */
  readonly shrinkMs?: number;
}

/** Something that a check noticed. */
export interface Notice {
  readonly check: string;
  readonly kind: FailureKind;
  readonly message: string;
}

/** A run that failed, and what noticed it, in the order in which it did. */
export interface Caught {
  readonly run: Run;
  /** Of the simulator. */
  readonly seed?: number;
  readonly by: readonly [Notice, ...Notice[]];
  /** Where it was asked for. */
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
 * Runs a trial in a process of its own, so that no patch ever meets other code.
 * @throws Error with what the process had to say where it fails
 */
export async function runTrial(trial: Trial): Promise<TrialResult> {
  const running = execute(process.execPath, [PROCESS], { maxBuffer: 2 ** 26 });
  running.child.stdin?.end(JSON.stringify(trial));
  try {
    return JSON.parse((await running).stdout) as TrialResult;
  } catch (error) {
    throw new Error(`A trial failed: ${(error as { stderr?: string }).stderr ?? ''}`, { cause: error });
  }
}
