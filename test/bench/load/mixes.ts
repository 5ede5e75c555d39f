/** The transactions of the sessions of a load. */
import { type KeyTable, TransactionGenerator, type TransactionMix, Uniform } from '@isochron/workload';

/** How often a key of a partition is chosen: zipf 0.99, as in the papers, or each as often. */
export type KeyChoice = 'zipf' | 'uniform';

export interface MixedLoad {
  readonly mix: TransactionMix;
  readonly keys?: KeyChoice;
  /** Regions of the sessions, in turn. */
  readonly regions: readonly string[];
  readonly sessions: number;
  readonly seed: number;
}

/** A generator for each session. */
export function transactionsOf({ mix, keys, regions, sessions, seed }: MixedLoad, table: KeyTable) {
  const distribution = keys === 'uniform' ? { distribution: new Uniform(table.keysPerPartition) } : {};
  return Array.from({ length: sessions }, (_, i) => {
    const region = regions[i % regions.length]!;
    return new TransactionGenerator({ table, mix, region, seed: seed * sessions + i, ...distribution });
  });
}
