/** Trials: runs of the simulator, in other processes, with changes of the code. */
import { join } from 'node:path';
import type { FailureKind, Plan } from '@isochron/sim';
import { ROOT } from '../e2e/processes.js';
import type { Profile } from './mutant.js';
import { type Build, type Change, patchedBuild, switchedBuild } from './test-build.js';
import { TrialWorker } from './trial-worker.js';

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

const PROCESS = join(ROOT, 'test/dist/mutants/trial-process.js');

/** Runs trials of some changes. Workers are used again: a first run in a new process takes five times as long. */
export class Trials {
  readonly #changes: readonly Change[];
  readonly #idle: TrialWorker[] = [];
  #build: Promise<Build> | undefined;

  /** @param changes all changes that trials switch on */
  constructor(changes: readonly Change[]) {
    this.#changes = changes;
  }

  /**
   * Runs a trial. Code that runs only while modules load has its result before a switch is on: such a change has a
   * build of its own.
   * @throws Error when a worker ends early or exceeds its limit, or when the changed code is never loaded
   */
  async run(trial: Trial): Promise<TrialResult> {
    this.#build ??= switchedBuild(this.#changes, PROCESS);
    const build = await this.#build;
    if (trial.changes.every((change) => build.numbers.has(change))) {
      const worker = this.#idle.pop() ?? new TrialWorker(build.code);
      const result = await worker.ask(requestOf(trial, build));
      this.#idle.push(worker);
      if (result.hasRun || result.caught.length > 0) return result;
    }
    return runAlone(trial);
  }

  /** Ends the workers. */
  end(): void {
    for (const worker of this.#idle.splice(0)) worker.end();
  }
}

async function runAlone(trial: Trial): Promise<TrialResult> {
  const build = await patchedBuild(trial.changes, PROCESS);
  const worker = new TrialWorker(build.code);
  const result = await worker.ask(requestOf(trial, build));
  worker.end();
  if (result.hasRun) return result;
  // A patch of a file that was never loaded has no effect: no check could catch it, and a variant would pass.
  const files = trial.changes.flatMap(({ patches }) => patches.map(({ file }) => file));
  throw new Error(`A patched file was never loaded: ${files.join(', ')}`);
}

function requestOf({ changes, ...runs }: Trial, { numbers }: Build): TrialRequest {
  return { ...runs, switches: changes.map((change) => numbers.get(change)!) };
}
