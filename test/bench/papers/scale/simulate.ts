/** Simulates one configuration. */
import { TRANSACTION_PROTOCOLS, type TransactionEntry } from '@isochron/protocols';
import type { CostModel } from '@isochron/sim/scale/cost-model';
import { runScale, type ScaleResult } from '@isochron/sim/scale/run-scale';
import { oneWayMs, TEN_REGIONS } from './delays.js';
import { type Conditions, type Configuration, MIXES, type SystemName } from './experiment.js';
import { placed } from './placement.js';

export interface ScaleJob {
  readonly configuration: Configuration;
  readonly conditions: Conditions;
  readonly model: CostModel;
  readonly seed: number;
}

/** A system, and its possible placement: in two regions, or in all of them. */
interface System {
  readonly entry: TransactionEntry;
  readonly replication: 2 | 'full';
}

const SYSTEMS: Readonly<Record<SystemName, System>> = {
  PaRiS: { entry: TRANSACTION_PROTOCOLS.paris, replication: 2 },
  BPR: { entry: TRANSACTION_PROTOCOLS.bpr, replication: 2 },
  Wren: { entry: TRANSACTION_PROTOCOLS.wren, replication: 'full' },
};

export function simulate({ configuration, conditions, model, seed }: ScaleJob): ScaleResult {
  const { system, mix, nodesPerRegion } = configuration;
  const { cores, lanMs, skewsMs, keysPerPartition, ramps } = conditions;
  const { entry, replication } = SYSTEMS[system];
  const regions = TEN_REGIONS.slice(0, configuration.regions);
  const copies = replication === 'full' ? regions.length : replication;
  const place = placed({ regions, nodesPerRegion, replication: copies, keysPerPartition });
  return runScale(
    {
      ...place.options(MIXES[mix]),
      entry,
      model,
      cores,
      delayMs: (from, to) => (from === to ? lanMs : oneWayMs(from, to)),
      clientMs: lanMs,
      skewsMs,
      seed,
    },
    ramps[mix],
  );
}
