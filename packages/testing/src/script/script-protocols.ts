/** How scripts show the snapshots of the protocols that they play. */
import type { Deps } from '@isochron/core';
import { TRANSACTION_PROTOCOLS, type TransactionEntry } from '@isochron/protocols/catalogue';
import type { TransactionName } from '@isochron/protocols/session-rules';
import type { Scene } from './script-scene.js';

export interface ScriptProtocol extends TransactionEntry {
  /** The meaning of a snapshot's entries beside its timestamp. */
  entries(deps: Deps, stage: Scene): string[];
}

/** One entry for each region. */
const byRegion: ScriptProtocol['entries'] = (deps, stage) =>
  deps.map((ts, i) => `${stage.world.topology.regions[i]} ${stage.time(ts)}`);

/** Entries that are not one for each region. */
const OTHER_ENTRIES: { readonly [Name in TransactionName]?: ScriptProtocol['entries'] } = {
  wren: ([rt, place, hwt], stage) => [
    `remote ${stage.time(rt)}`,
    `of ${place === 0 ? 'no region' : stage.world.topology.regions[place! - 1]}`,
    ...(hwt === 0 ? [] : [`written ${stage.time(hwt)}`]),
  ],
};

/** By the word behind `protocol=`. */
export const PROTOCOLS: Readonly<Record<string, ScriptProtocol>> = Object.fromEntries(
  Object.entries(TRANSACTION_PROTOCOLS).map(([name, entry]) => [
    name,
    { ...entry, entries: OTHER_ENTRIES[name as TransactionName] ?? byRegion },
  ]),
);
