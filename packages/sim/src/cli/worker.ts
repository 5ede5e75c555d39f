/** A thread that runs the seeds that it receives. */
import { parentPort, workerData } from 'node:worker_threads';
import { runSeed } from '../run/run-seed.js';
import type { WorkerTask } from './pool.js';
import { summaryOf } from './summary.js';

const { protocol, transactions } = workerData as WorkerTask;

parentPort?.on('message', (seed: number) => {
  parentPort?.postMessage(summaryOf(runSeed(protocol, seed, {}, { transactions })));
});
