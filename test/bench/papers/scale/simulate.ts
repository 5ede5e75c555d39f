/** Simulates one configuration. */
import { BprSession, bpr, ParisSession, paris, WrenSession, wren } from '@isochron/protocols';
import type { CostModel } from '@isochron/sim/scale/cost-model';
import { runScale, type ScaleResult } from '@isochron/sim/scale/run-scale';
import type { ScaledProtocol } from '@isochron/sim/scale/scale-cluster';
import { oneWayMs, TEN_REGIONS } from './delays.js';
import { type Conditions, type Configuration, MIXES, type SystemName } from './experiment.js';
import { placed } from './placement.js';

export interface ScaleJob {
  readonly configuration: Configuration;
  readonly conditions: Conditions;
  readonly model: CostModel;
  readonly seed: number;
}

/** A system, and where it can have its partitions: in two regions, or in all of them. */
interface System extends ScaledProtocol {
  readonly replication: 2 | 'full';
}

const SYSTEMS: Readonly<Record<SystemName, System>> = {
  PaRiS: { protocol: paris, createSession: (id) => new ParisSession(id), replication: 2 },
  BPR: { protocol: bpr, createSession: (id) => new BprSession(id), replication: 2 },
  Wren: { protocol: wren, createSession: (id) => new WrenSession(id), replication: 'full' },
};

export function simulate({ configuration, conditions, model, seed }: ScaleJob): ScaleResult {
  const { system, mix, nodesPerRegion } = configuration;
  const { cores, lanMs, skewsMs, keysPerPartition, ramps } = conditions;
  const { protocol, createSession, replication } = SYSTEMS[system];
  const regions = TEN_REGIONS.slice(0, configuration.regions);
  const copies = replication === 'full' ? regions.length : replication;
  const place = placed({ regions, nodesPerRegion, replication: copies, keysPerPartition });
  return runScale(
    {
      ...place.options(MIXES[mix]),
      protocol,
      createSession,
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
