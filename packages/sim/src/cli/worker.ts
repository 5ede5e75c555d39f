/** A thread that runs the jobs that it receives. */
import { parentPort, workerData } from 'node:worker_threads';
import { type Job, summaryOfJob, type WorkerTask } from './pool.js';

parentPort?.on('message', (job: Job) => {
  parentPort?.postMessage(summaryOfJob(job, workerData as WorkerTask));
});
