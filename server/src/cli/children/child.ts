/** One node as a child process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { failureOf } from '../failures.js';
import { isFailureNotice } from './parent.js';

/** A node that has a process of its own. */
export interface SupervisedNode {
  readonly id: string;
  /** Where its output goes; default: that of this process. */
  readonly logFile?: string;
}

/**
 * A node's process. It closes in order when the channel to it ends, by `stop` or because this process has ended.
 */
export class ChildNode<N extends SupervisedNode> {
  #process: ChildProcess | undefined;

  constructor(
    readonly node: N,
    /** Arguments after the name of this program. */
    readonly args: readonly string[],
  ) {}

  /**
   * Starts it; resolves when it has ended, with one line: `CODE: sentence` from the child, else its exit code or
   * signal.
   */
  async run(): Promise<string> {
    const { logFile } = this.node;
    const log = logFile === undefined ? 'inherit' : openSync(logFile, 'a');
    const child = spawn(process.execPath, [process.argv[1]!, ...this.args], { stdio: ['ignore', log, log, 'ipc'] });
    if (log !== 'inherit') closeSync(log);
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

  /** Sends it a signal; SIGKILL ends it at once. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
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
