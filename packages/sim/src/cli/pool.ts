import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { PlanSize } from '../plan/draw.js';
import type { Plan } from '../plan/plan.js';
import { runSeed } from '../run/run-seed.js';
import { type Summary, summaryOf } from './summary.js';

/** One run: a seed of the pool's protocol, or a plan, which names its protocol. */
export type Job = number | Plan;

/** The input of a thread. */
export interface WorkerTask {
  readonly protocol: string;
  readonly size: PlanSize;
}

/** Runs a job. Keeps only the part of its result that `--json` prints. */
export const summaryOfJob = (job: Job, { protocol, size }: WorkerTask): Summary =>
  summaryOf(runSeed(typeof job === 'number' ? protocol : job.protocol, job, {}, size));

/** Runs jobs on several threads; if there is only one, on the calling thread. */
export class Pool {
  readonly #threads: number;

  constructor(
    readonly protocol: string,
    readonly size: PlanSize,
    threads: number | undefined,
  ) {
    this.#threads = threads ?? availableParallelism();
  }

  /** Asks for the next job until there are no more, and reports the result of each, in the order of their ends. */
  async run(nextJob: () => Job | undefined, onDone: (summary: Summary) => void): Promise<void> {
    if (this.#threads === 1) {
      await this.#runHere(nextJob, onDone);
      return;
    }
    const workerData: WorkerTask = { protocol: this.protocol, size: this.size };
    const file = new URL('./worker.js', import.meta.url);
    const workers = Array.from({ length: this.#threads }, () => new Worker(file, { workerData }));
    try {
      await Promise.all(workers.map((worker) => feed(worker, nextJob, onDone)));
    } finally {
      // Also after a failure of one of them: otherwise the others would keep the process from ending.
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
  }

  async #runHere(nextJob: () => Job | undefined, onDone: (summary: Summary) => void): Promise<void> {
    for (let job = nextJob(); job !== undefined; job = nextJob()) {
      onDone(summaryOfJob(job, this));
      // Lets a signal through between two runs.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Sends a thread one job after the other. */
function feed(worker: Worker, nextJob: () => Job | undefined, onDone: (summary: Summary) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (): void => {
      const job = nextJob();
      if (job === undefined) resolve();
      else worker.postMessage(job);
    };
    worker.on('error', reject);
    worker.on('message', (summary: Summary) => {
      onDone(summary);
      next();
    });
    next();
  });
}
