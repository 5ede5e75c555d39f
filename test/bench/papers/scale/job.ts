/** Simulates configurations one after the other in a process of its own: several processes run at the same time. */
import type { ScaleResult } from '@isochron/sim/scale/run-scale';
import { answerJobs } from '../../jobs.js';
import { type ScaleJob, simulate } from './simulate.js';

answerJobs<ScaleJob, ScaleResult>(async (job) => simulate(job));
