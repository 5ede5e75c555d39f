/** Runs trials: the builds with changes, and the workers that run the builds. */
import { join } from 'node:path';
import { ROOT } from '../e2e/processes.js';
import { type Build, type Change, patchedBuild, switchedBuild } from './test-build.js';
import type { Trial, TrialRequest, TrialResult } from './trial.js';
import { TrialWorker } from './trial-worker.js';

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
