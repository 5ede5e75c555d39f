import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { runSeed } from '../run/run-seed.js';
import { type Summary, summaryOf } from './summary.js';

/** The input of a thread. */
export interface WorkerTask {
  readonly protocol: string;
  readonly transactions: number;
}

/** Runs seeds on several threads; if there is only one, on the calling thread. */
export class Pool {
  readonly #threads: number;

  constructor(
    readonly protocol: string,
    readonly transactions: number,
    threads: number | undefined,
  ) {
    this.#threads = threads ?? availableParallelism();
  }

  /** Asks for the next seed until there are no more, and reports the result of each, in the order of their ends. */
  async run(nextSeed: () => number | undefined, onDone: (summary: Summary) => void): Promise<void> {
    if (this.#threads === 1) {
      await this.#runHere(nextSeed, onDone);
      return;
    }
    const workerData: WorkerTask = { protocol: this.protocol, transactions: this.transactions };
    const file = new URL('./worker.js', import.meta.url);
    const workers = Array.from({ length: this.#threads }, () => new Worker(file, { workerData }));
    try {
      await Promise.all(workers.map((worker) => feed(worker, nextSeed, onDone)));
    } finally {
      // Also after a failure of one of them: otherwise the others would keep the process from ending.
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
  }

  async #runHere(nextSeed: () => number | undefined, onDone: (summary: Summary) => void): Promise<void> {
    const { protocol, transactions } = this;
    for (let seed = nextSeed(); seed !== undefined; seed = nextSeed()) {
      onDone(summaryOf(runSeed(protocol, seed, {}, { transactions })));
      // Lets a signal through between two runs.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Sends a thread one seed after the other. */
function feed(worker: Worker, nextSeed: () => number | undefined, onDone: (summary: Summary) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (): void => {
      const seed = nextSeed();
      if (seed === undefined) resolve();
      else worker.postMessage(seed);
    };
    worker.on('error', reject);
    worker.on('message', (summary: Summary) => {
      onDone(summary);
      next();
    });
    next();
  });
}
