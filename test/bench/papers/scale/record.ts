/** The record of a scale experiment: all data that its part of the report is made of. */
import type { ScalePoint, ScaleResult } from '@isochron/sim/scale/run-scale';
import type { CostsRecord } from './costs.js';
import type { Configuration, ScaleExperiment } from './experiment.js';

export interface ConfigurationRecord {
  readonly configuration: Configuration;
  readonly result: ScaleResult;
}

export interface ScaleRecord {
  readonly experiment: ScaleExperiment;
  readonly seed: number;
  readonly quick: boolean;
  readonly costs: CostsRecord;
  readonly runs: readonly ConfigurationRecord[];
}

export function resultOf({ runs }: ScaleRecord, wanted: Configuration): ScaleResult | undefined {
  return runs.find(
    ({ configuration: { system, mix, regions, nodesPerRegion } }) =>
      system === wanted.system &&
      mix === wanted.mix &&
      regions === wanted.regions &&
      nodesPerRegion === wanted.nodesPerRegion,
  )?.result;
}

/** The point with the most throughput. */
export const bestOf = ({ points }: ScaleResult): ScalePoint =>
  points.reduce((best, point) => (point.perSecond > best.perSecond ? point : best));
