/** The two ends of a helper process: the benchmark sends it one job after the other, and it answers each. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { basename, join } from 'node:path';
import { benchFolder, ROOT } from './root.js';

type Answer<R> = { readonly result: R } | { readonly error: string };

/**
 * A helper process. Load generators and limits run in such processes, so that the measuring process is not a
 * bottleneck.
 */
export class Helper<J, R> {
  readonly #child: ChildProcess;
  #ended: string | undefined;

  /** @param file compiled file, relative to this one @param execArgv options for Node @param build its repository */
  constructor(
    readonly file: string,
    execArgv: readonly string[],
    build = ROOT,
  ) {
    this.#child = fork(join(benchFolder(build), file), { execArgv: [...execArgv] });
    this.#child.once('exit', (code, signal) => {
      this.#ended = `${basename(file)} ended (${signal ?? `exit code ${code}`})`;
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Whether it accepts no more jobs. */
  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /**
   * Sends a job and awaits its result. One at a time.
   * @param limitMs the time after which the helper is killed
   * @throws Error with the helper's own stack
   */
  async run(job: J, limitMs?: number): Promise<R> {
    if (this.#ended !== undefined) throw new Error(this.#ended);
    const gone = new AbortController();
    const onExit = () => gone.abort();
    this.#child.once('exit', onExit);
    const limit = limitMs === undefined ? undefined : setTimeout(() => this.kill(), limitMs);
    try {
      const answered = once(this.#child, 'message', { signal: gone.signal });
      this.#child.send(job as object);
      const [answer] = (await answered) as [Answer<R>];
      if ('error' in answer) throw new Error(`${basename(this.file)}: ${answer.error}`);
      return answer.result;
    } catch (error) {
      throw gone.signal.aborted ? new Error(this.#ended) : error;
    } finally {
      clearTimeout(limit);
      this.#child.off('exit', onExit);
    }
  }

  /** Ends it after the current job. */
  async stop(): Promise<void> {
    if (this.#ended !== undefined) return;
    const ended = once(this.#child, 'exit');
    if (this.#child.connected) this.#child.disconnect();
    await ended;
  }

  /** Ends it at once. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** The helper's end: does jobs until the benchmark disconnects. */
export function answerJobs<J, R>(work: (job: J) => Promise<R>): void {
  process.on('message', (job) => {
    work(job as J).then(
      (result) => send({ result }),
      (error: unknown) => send({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
  process.on('disconnect', () => process.exit());
  // A Ctrl-C reaches the whole group: the benchmark decides how to react.
  process.on('SIGINT', () => undefined);
}

function send<R>(answer: Answer<R>): void {
  process.send?.(answer);
}
