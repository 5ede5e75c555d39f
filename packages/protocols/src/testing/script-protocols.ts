/** What scripts know of the protocols that they play. */
import type { Deps } from '@isochron/core';
import { bpr } from '../bpr/bpr.js';
import { cure } from '../cure/cure.js';
import { hCure } from '../hcure/hcure.js';
import type { Session } from '../kernel/transactions/session.js';
import type { TransactionProtocol } from '../kernel/transactions/snapshots.js';
import { nocc } from '../nocc/nocc.js';
import { paris } from '../paris/paris.js';
import { BprSession, CureSession, HCureSession, NoccSession, ParisSession, WrenSession } from '../sessions.js';
import { wren } from '../wren/wren.js';
import type { Scene } from './script-scene.js';

export interface ScriptProtocol {
  readonly protocol: TransactionProtocol;
  readonly Session: new (id: string) => Session;
  /** What a snapshot's entries beside its timestamp say. */
  entries(deps: Deps, stage: Scene): string[];
}

/** One entry for each region. */
const byRegion: ScriptProtocol['entries'] = (deps, stage) =>
  deps.map((ts, i) => `${stage.world.topology.regions[i]} ${stage.time(ts)}`);

/** By the word behind `protocol=`. */
export const PROTOCOLS: Readonly<Record<string, ScriptProtocol>> = {
  paris: { protocol: paris, Session: ParisSession, entries: () => [] },
  bpr: { protocol: bpr, Session: BprSession, entries: () => [] },
  nocc: { protocol: nocc, Session: NoccSession, entries: () => [] },
  cure: { protocol: cure, Session: CureSession, entries: byRegion },
  'h-cure': { protocol: hCure, Session: HCureSession, entries: byRegion },
  wren: {
    protocol: wren,
    Session: WrenSession,
    entries: ([rt, place, hwt], stage) => [
      `remote ${stage.time(rt)}`,
      `of ${place === 0 ? 'no region' : stage.world.topology.regions[place! - 1]}`,
      ...(hwt === 0 ? [] : [`written ${stage.time(hwt)}`]),
    ],
  },
};
