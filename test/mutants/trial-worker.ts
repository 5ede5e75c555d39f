/** A process that runs trials, one after the other. */
import { type ChildProcess, spawn } from 'node:child_process';
import { ROOT } from '../e2e/processes.js';
import type { TrialRequest, TrialResult } from './trial.js';

/** Longest time of a trial by default, ms: a change may have made an endless loop. */
const LIMIT_MS = 600_000;
/** Limit of the output that an error shows. */
const SHOWN_CHARACTERS = 10_000;

export class TrialWorker {
  readonly #process: ChildProcess;
  #output = '';

  /**
   * @param code the bundled `trial-process.ts`
   * @param limitMs the longest time of a trial
   */
  constructor(
    code: string,
    readonly limitMs = LIMIT_MS,
  ) {
    this.#process = spawn(process.execPath, ['--input-type=module', '-'], {
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
    });
    const { stdin, stdout, stderr } = this.#process;
    for (const stream of [stdout, stderr])
      stream?.on('data', (text) => {
        this.#output = (this.#output + String(text)).slice(-SHOWN_CHARACTERS);
      });
    stdin?.end(code);
  }

  /**
   * Runs a trial.
   * @throws Error with the output of the process when the process ends early or the trial exceeds its limit
   */
  ask(request: TrialRequest): Promise<TrialResult> {
    return new Promise((resolve, reject) => {
      const stop = (why: string): void => {
        this.#process.kill('SIGKILL');
        finish();
        reject(new Error(`A trial failed: ${why}\n${this.#output}`));
      };
      const onExit = (code: number | null): void => stop(`the process ended with code ${code}`);
      const onMessage = (result: unknown): void => {
        finish();
        resolve(result as TrialResult);
      };
      const timer = setTimeout(() => stop(`no result in ${this.limitMs} ms`), this.limitMs);
      const finish = (): void => {
        clearTimeout(timer);
        this.#process.off('exit', onExit).off('message', onMessage);
      };
      this.#process.once('exit', onExit).once('message', onMessage);
      this.#process.send(request);
    });
  }

  /** Ends the process. */
  end(): void {
    this.#process.kill();
  }
}
