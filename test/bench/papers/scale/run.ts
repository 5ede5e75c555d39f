/** Carries out the scale experiment: one configuration at a time on each core, the largest first. */
import { availableParallelism } from 'node:os';
import type { ScaleResult } from '@isochron/sim/scale/run-scale';
import { Helper } from '../../jobs.js';
import { readCosts } from './costs.js';
import type { Configuration, ScaleExperiment } from './experiment.js';
import { bestOf, type ConfigurationRecord, type ScaleRecord } from './record.js';
import type { ScaleJob } from './simulate.js';

const JOB_FILE = './papers/scale/job.js';
/** Most allocations of a simulation are short-lived; the stores keep a few GB in the largest ones. */
const ROOM = ['--max-semi-space-size=64', '--max-old-space-size=6144'];

export interface ScaleRunOptions {
  readonly seed: number;
  readonly quick: boolean;
  readonly workers?: number;
  /** Called for each configuration that is done. */
  readonly onDone: (what: string) => void;
}

const sizeOf = ({ regions, nodesPerRegion }: Configuration): number => regions * nodesPerRegion;

/** @throws Error when a simulation fails */
export async function runScaleExperiment(
  experiment: ScaleExperiment,
  { seed, quick, workers = availableParallelism(), onDone }: ScaleRunOptions,
): Promise<ScaleRecord> {
  const costs = readCosts();
  const { configurations, conditions } = experiment;
  const waiting = [...configurations].sort((a, b) => sizeOf(b) - sizeOf(a));
  const results = new Map<Configuration, ScaleResult>();
  const worker = async (): Promise<void> => {
    const helper = new Helper<ScaleJob, ScaleResult>(JOB_FILE, ROOM);
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const result = await helper.run({ configuration: next, conditions, model: costs.model, seed });
        results.set(next, result);
        onDone(`${nameOf(next)}: ${Math.round(bestOf(result).perSecond).toLocaleString('en-US')}/s`);
      }
    } finally {
      await helper.stop();
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, configurations.length) }, worker));
  const runs = configurations.map(
    (configuration): ConfigurationRecord => ({
      configuration,
      result: results.get(configuration)!,
    }),
  );
  return { experiment, seed, quick, costs, runs };
}

export const nameOf = ({ system, mix, regions, nodesPerRegion }: Configuration): string =>
  `${system} ${mix}, ${regions} regions of ${nodesPerRegion} nodes`;
