/** The simulation as data, which `run.ts` carries out and `section.ts` describes. */

import type { Ramp } from '@isochron/sim/scale/run-scale';
import { READ_HEAVY, type TransactionMix, WRITE_HEAVY } from '@isochron/workload';

/** A point of a plot: a system on a number of nodes. */
export interface Configuration {
  readonly system: SystemName;
  readonly mix: MixName;
  readonly regions: number;
  readonly nodesPerRegion: number;
}

export type SystemName = 'PaRiS' | 'BPR' | 'Wren';
export type MixName = keyof typeof MIXES;

export const MIXES = { '95:5': READ_HEAVY, '50:50': WRITE_HEAVY } as const satisfies Record<string, TransactionMix>;

/** The conditions that all of them share. */
export interface Conditions {
  /** Of each node: a node is one process, whose event loop is one thread. */
  readonly cores: number;
  /** One way between nodes of a region, and between a client and its node, ms. */
  readonly lanMs: number;
  readonly skewsMs: readonly number[];
  readonly keysPerPartition: number;
  readonly ramps: Readonly<Record<MixName, Ramp>>;
}

export interface ScaleExperiment {
  readonly name: string;
  readonly about: string;
  readonly figure: string;
  readonly conditions: Conditions;
  /** Its duration on two idle cores. */
  readonly aboutMs: number;
  readonly configurations: readonly Configuration[];
}

const inAll = (system: SystemName, mix: MixName, regions: number, nodes: readonly number[]): Configuration[] =>
  nodes.map((nodesPerRegion) => ({ system, mix, regions, nodesPerRegion }));

export const SCALE: ScaleExperiment = {
  name: 'scale',
  about: 'throughput by nodes and regions, in the simulator',
  figure: 'PaRiS, Fig. 3; Wren, Fig. 6',
  aboutMs: 6 * 60_000,
  conditions: {
    cores: 1,
    lanMs: 0.1,
    skewsMs: [0, 4, -3, 2, -5, 1],
    keysPerPartition: 1_000,
    // Transactions that leave the region take half a second: throughput is steady only after the first of them have
    // ended. Mixes with more writes wait for them more often, so that they need more clients until all cores are busy.
    ramps: {
      '95:5': { clientsPerNode: [64, 192], settleMs: 500, measureMs: 200, leastGain: 0.02 },
      '50:50': { clientsPerNode: [128, 384], settleMs: 600, measureMs: 400, leastGain: 0.02 },
    },
  },
  configurations: [
    ...inAll('PaRiS', '95:5', 3, [6, 12, 18]),
    ...inAll('PaRiS', '95:5', 5, [6, 12, 18]),
    ...inAll('PaRiS', '95:5', 10, [6, 12]),
    ...inAll('PaRiS', '50:50', 3, [6, 18]),
    ...inAll('PaRiS', '50:50', 10, [6]),
    ...inAll('BPR', '95:5', 3, [6, 18]),
    ...inAll('Wren', '95:5', 3, [4, 8, 16]),
    ...inAll('Wren', '95:5', 5, [16]),
  ],
};

const QUICK_RAMP: Ramp = { clientsPerNode: [2, 8], settleMs: 100, measureMs: 100, leastGain: 0.02 };

/** The same path with small clusters. */
export const QUICK_SCALE: ScaleExperiment = {
  ...SCALE,
  aboutMs: 10_000,
  conditions: {
    ...SCALE.conditions,
    keysPerPartition: 100,
    ramps: { '95:5': QUICK_RAMP, '50:50': QUICK_RAMP },
  },
  configurations: [...inAll('PaRiS', '95:5', 3, [2]), ...inAll('PaRiS', '50:50', 5, [2])],
};
