/** One node as a child process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { failureOf } from '../failures.js';
import { isFailureNotice } from '../node/parent.js';
import type { PlannedNode } from './plan.js';

/**
 * A node's process. Its output goes to its log file. It closes in order when the channel to it ends, by `stop` or
 * because this process has ended.
 */
export class ChildNode {
  #process: ChildProcess | undefined;

  constructor(
    readonly node: PlannedNode,
    /** Arguments after the name of this program. */
    readonly args: readonly string[],
  ) {}

  /**
   * Starts it; resolves when it has ended, with one line: `CODE: sentence` from the child, else its exit code or
   * signal.
   */
  async run(): Promise<string> {
    const log = openSync(this.node.logFile, 'a');
    const child = spawn(process.execPath, [process.argv[1]!, ...this.args], { stdio: ['ignore', log, log, 'ipc'] });
    closeSync(log);
    this.#process = child;
    let notice: string | undefined;
    child.on('message', (message: unknown) => {
      if (isFailureNotice(message)) notice = message.line;
    });
    const reason = await endOf(child);
    this.#process = undefined;
    return notice ?? reason;
  }

  /** Asks it to close in order. */
  stop(): void {
    if (this.#process?.connected) this.#process.disconnect();
  }

  /** Ends it at once. */
  kill(): void {
    this.#process?.kill('SIGKILL');
  }
}

/** Resolves with the exit code or signal of a child, or the reason why it could not be started. */
async function endOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, 'exit');
    // Its last message may still be on the way; the channel ends after it.
    if (child.connected) await once(child, 'disconnect');
    return signal === null ? `exit code ${code}` : `signal ${signal}`;
  } catch (error) {
    return failureOf(error).line;
  }
}
