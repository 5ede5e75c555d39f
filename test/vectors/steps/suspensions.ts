/** Maps of a cluster that suspend nodes: which commits they defer, and what nodes report of them (M4, M10). */
import type { Random, SessionCut, Timestamp } from '@isochron/core';
import type { OwnState } from '@isochron/protocols/kernel/transactions/own-commits';
import type { SessionState } from '@isochron/protocols/kernel/transactions/session';
import type { ServerFrame } from '@isochron/wire/session-frames';
import { REGIONS, type Times } from '../drawing.js';

type Committed = ServerFrame & { readonly type: 'committed' };
type MapFields = { readonly map?: number; readonly cuts?: readonly SessionCut[] };

/** Numbers of nodes; the last of them are suspended more often. */
const NODES = [0, 1, 2, 2];

export class Suspensions {
  readonly #random: Random;
  readonly #times: Times;
  readonly #cuts: SessionCut[] = [];
  #map = 0;

  constructor(random: Random, times: Times) {
    this.#random = random;
    this.#times = times;
    if (!random.chance(0.6)) return;
    for (let i = 0; i < 20; i++) times.pass();
    this.report();
  }

  /** Version of the newest map. */
  get map(): number {
    return this.#map;
  }

  /** Of a welcome: the client may know some cuts already. Sometimes a cut is missing, which is wrong. */
  welcome(): MapFields {
    return this.#fields(this.#random.chance(0.9) ? this.#cuts : []);
  }

  /** Of a report, with which a node may adopt the next map. */
  report(): MapFields {
    if (this.#random.chance(0.1)) return this.#random.chance(0.5) ? {} : this.#fields(this.#cuts);
    if (!this.#random.chance(0.35)) return this.#fields([]);
    this.#map++;
    // Another map brings nodes back.
    if (this.#random.chance(0.2)) return this.#fields([]);
    const nodes = this.#random.chance(0.15) ? [0, 1] : [this.#random.pick(NODES)];
    const horizon = this.#random.chance(0.7) ? this.#times.lagging() : this.#times.recent();
    this.#cuts.push({ map: this.#map, horizon, nodes });
    return this.#fields(this.#cuts.slice(-1));
  }

  #fields(cuts: readonly SessionCut[]): MapFields {
    return { ...(this.#map > 0 && { map: this.#map }), ...(cuts.length > 0 && { cuts: [...cuts] }) };
  }

  /** Where an attempt of this map commits. The nodes are not known where the outcome comes from another node. */
  place(map = 0): Pick<Committed, 'map' | 'nodes'> {
    const nodes = this.#random.pick([[0], [1], [2], [0, 2], [1, 2]]);
    return { ...(map > 0 && { map }), ...(this.#random.chance(0.8) && { nodes }) };
  }

  /** The commits of a session that was elsewhere: a commit for each of its writes. */
  brought(snapshot: Timestamp, cache: SessionState['cache']): OwnState[] {
    return cache.map(([key, { ct, txId, value }]) => ({
      sent: { txId, snapshot, hwt: 0, sentAfter: snapshot, writes: [{ key, value }] },
      attempts: [{ home: this.#random.pick(REGIONS), avoid: [], map: 0 }],
      acknowledged: ct,
      ct,
      map: undefined,
      nodes: this.#random.pick([[0], [1], [2]]),
      isDeferred: this.#random.chance(0.3),
    }));
  }

  /**
   * Whether another attempt commits again what has committed as `known`: mostly if a map up to that of the attempt has
   * deferred the commit. Else the old answer is repeated.
   */
  isAgain({ ts, map: knownMap = 0 }: Committed, map = 0): boolean {
    const isDeferred = this.#cuts.some((cut) => knownMap < cut.map && cut.map <= map && ts > cut.horizon);
    return isDeferred && this.#random.chance(0.85);
  }
}
