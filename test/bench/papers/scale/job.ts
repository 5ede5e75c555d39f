/** One configuration after the other in a process of its own: several are simulated side by side. */
import type { ScaleResult } from '@isochron/sim/scale/run-scale';
import { answerJobs } from '../../jobs.js';
import { type ScaleJob, simulate } from './simulate.js';

answerJobs<ScaleJob, ScaleResult>(async (job) => simulate(job));
