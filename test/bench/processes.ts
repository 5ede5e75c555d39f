/** Processes with a log file: started, and ended in order. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';

/** Time limit for a process to end by itself, ms. */
const STOP_TIMEOUT_MS = 15_000;

const running = new Set<LoggedProcess>();

/** Ends all of them at once, those that are starting included. */
export function killAll(): void {
  for (const each of running) each.kill();
}

/** A process whose output goes to a file. */
export class LoggedProcess {
  readonly #child: ChildProcess;

  constructor(
    readonly name: string,
    command: string,
    args: readonly string[],
    readonly logFile: string,
    cwd?: string,
    user: { readonly uid?: number; readonly gid?: number } = {},
  ) {
    const log = openSync(logFile, 'a');
    // A group of its own: a Ctrl-C in the terminal reaches only the benchmark, which then ends the others in order.
    this.#child = spawn(command, args, {
      stdio: ['ignore', log, log],
      detached: true,
      ...(cwd && { cwd }),
      ...user,
    });
    closeSync(log);
    running.add(this);
    this.#child.once('exit', () => running.delete(this));
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** @throws Error with the end of its log when the process is not running any more */
  check(): void {
    if (!this.#hasEnded()) return;
    const tail = readFileSync(this.logFile, 'utf8').slice(-2000);
    throw new Error(
      `${this.name} has ended (${this.#child.signalCode ?? `exit code ${this.#child.exitCode}`}):\n${tail}`,
    );
  }

  /** Asks the process to end, and kills it after the time limit. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#hasEnded()) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    this.resume();
    const timer = setTimeout(() => this.kill(), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }

  /** Stops the process (SIGSTOP), whatever its state. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  /** Continues the process; without effect on one that runs. */
  resume(): void {
    this.#child.kill('SIGCONT');
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
