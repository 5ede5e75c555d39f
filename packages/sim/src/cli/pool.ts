import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { runSeed } from '../run/run-seed.js';
import { type Summary, summaryOf } from './summary.js';

/** What a thread is started with. */
export interface WorkerTask {
  readonly protocol: string;
  readonly transactions: number;
}

/** Runs seeds on several threads; on one, in this very thread. */
export class Pool {
  readonly #threads: number;

  constructor(
    readonly protocol: string,
    readonly transactions: number,
    threads: number | undefined,
  ) {
    this.#threads = threads ?? availableParallelism();
  }

  /** Asks for the next seed until there is none, and hands out what became of each, in the order of their ends. */
  async run(nextSeed: () => number | undefined, onDone: (summary: Summary) => void): Promise<void> {
    if (this.#threads === 1) {
      await this.#runHere(nextSeed, onDone);
      return;
    }
    await Promise.all(Array.from({ length: this.#threads }, () => this.#runThread(nextSeed, onDone)));
  }

  async #runHere(nextSeed: () => number | undefined, onDone: (summary: Summary) => void): Promise<void> {
    const { protocol, transactions } = this;
    for (let seed = nextSeed(); seed !== undefined; seed = nextSeed()) {
      onDone(summaryOf(runSeed(protocol, seed, {}, { transactions })));
      // Lets a signal through between two runs.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #runThread(nextSeed: () => number | undefined, onDone: (summary: Summary) => void): Promise<void> {
    const workerData: WorkerTask = { protocol: this.protocol, transactions: this.transactions };
    return new Promise((resolve, reject) => {
      const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData });
      const feed = (): void => {
        const seed = nextSeed();
        if (seed === undefined) worker.terminate().then(() => resolve(), reject);
        else worker.postMessage(seed);
      };
      worker.on('error', reject);
      worker.on('message', (summary: Summary) => {
        onDone(summary);
        feed();
      });
      feed();
    });
  }
}
