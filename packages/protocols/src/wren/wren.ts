/**
 * Wren: snapshots that a region has installed, from two timestamps (CANToR, BDT and BiST). A transaction reads what its
 * region sourced up to LST, and what the others sourced up to RST; a session's writes above LST come from its own cache
 * (Algorithm 2 lines 1–6, Algorithm 3 lines 1–12, Algorithm 4 lines 29–31).
 *
 * Invariants: WC1 `rt` of an assigned snapshot is below its `lt`, or both are UST. WC2 no assigned snapshot exceeds
 * what this node has confirmed as installed. WC3 LST and RST do not exceed what the node's own replicas have on disk.
 */
import { type Belongs, IsochronError, invariant, type RegionId, type Timestamp, type Topology } from '@isochron/core';
import type { NodeState } from '../kernel/node-state.js';
import type { Replication } from '../kernel/replication/replication.js';
import { notFullyReplicated } from '../kernel/transactions/full-replication.js';
import { byRule } from '../kernel/transactions/reading.js';
import {
  type CommitContext,
  type ReadRules,
  type Refusal,
  type ReplicaView,
  type Snapshot,
  type SnapshotRules,
  TOO_OLD,
  type TransactionProtocol,
} from '../kernel/transactions/snapshots.js';
import { refuseCollected } from '../kernel/transactions/timestamp-snapshots.js';
import { ENTRIES, partsOf, reachOf, snapshotOf } from './snapshot.js';

/**
 * Transactional causal consistency with full replication and reads that never wait, at two timestamps whatever the
 * number of regions.
 */
export const wren: TransactionProtocol = {
  name: 'wren',
  unsupported: notFullyReplicated,
  entries: () => ENTRIES,
  regional: { size: ({ regions }) => (regions.length === 1 ? 1 : 2), own: installed },
  rules: (state) => new RegionalSnapshots(state),
  reading,
};

/**
 * BiST (Alg. 4 lines 30–31): the lowest entry of the own region, and of all others. With one region there is no other.
 */
function installed(
  replicas: readonly Replication[],
  { region, topology }: Pick<NodeState, 'region' | 'topology'>,
): readonly Timestamp[] {
  const upTo = (source: RegionId) => Math.min(...replicas.map(({ vv }) => vv.durable(source)));
  const others = topology.regions.filter((other) => other !== region);
  return others.length === 0 ? [upTo(region)] : [upTo(region), Math.min(...others.map(upTo))];
}

class RegionalSnapshots implements SnapshotRules {
  readonly cohortsAtHome = true;
  readonly #place: number;
  #highest = { lst: 0, rst: 0 };
  #checked: readonly Timestamp[] = [];

  constructor(readonly state: NodeState) {
    this.#place = placeOf(state.topology, state.region);
  }

  /** Alg. 2 lines 2–5. All that a session from another region has seen and written must be installed here (D9). */
  assign(seen: Snapshot): Snapshot | undefined {
    this.observeSnapshot(seen);
    const parts = partsOf(seen);
    const here = parts.place === this.#place;
    const { lst, rst, ust } = this.#known();
    const lt = lst;
    const rt = Math.max(Math.min(rst, lst - 1), ust);
    if (lt < (here ? parts.lt : reachOf(parts)) || rt < (here ? parts.rt : reachOf(parts))) return undefined;
    invariant(rt < lt || (rt === lt && lt === ust), () => `WC1: assigned ${lt}, ${rt}`);
    return this.#assigned(snapshotOf({ lt, rt, place: this.#place, hwt: 0 }), lt, rt);
  }

  /** A snapshot of any region, once it is installed here. */
  confirm(at: Snapshot): Snapshot | undefined {
    const { lt, rt, place } = partsOf(at);
    if (place > this.state.topology.regions.length)
      throw new IsochronError('INVALID_REQUEST', 'The snapshot names an unknown region.');
    refuseCollected(Math.min(lt, rt), this.state);
    this.observeSnapshot(at);
    const here = place === this.#place;
    const { lst, rst } = this.#known();
    if (lst < (here ? lt : rt) || rst < (here ? rt : lt)) return undefined;
    return this.#assigned(at, here ? lt : rt, here ? rt : lt);
  }

  /** Alg. 2 lines 2–3, Alg. 3 lines 2–3: of this region, and as far as the own replicas go (P5). */
  observeSnapshot(snapshot: Snapshot): void {
    const { lt, rt, place } = partsOf(snapshot);
    if (place === this.#place) this.state.regional.learn([lt, rt].slice(0, this.state.regional.size));
  }

  oldest(snapshot: Snapshot): Timestamp {
    const { lt, rt } = partsOf(snapshot);
    return Math.min(lt, rt);
  }

  newest(snapshot: Snapshot): Timestamp {
    return reachOf(partsOf(snapshot));
  }

  /**
   * BDT: a version's remote dependency time is `rt` of the transaction that wrote it. Where it is written in another
   * region than it was read in, all that the session has seen and written may be remote; then the response names the
   * home for the session.
   */
  depsOf(snapshot: Snapshot, { home, hwt }: CommitContext): readonly Timestamp[] {
    const parts = partsOf(snapshot);
    const place = placeOf(this.state.topology, home);
    return parts.place === place ? [parts.rt] : [Math.max(reachOf(parts), hwt), place];
  }

  stamp(deps: readonly Timestamp[] | undefined): readonly Timestamp[] | undefined {
    return deps;
  }

  /** A client's operations stay within one region (section II-B). */
  sources(): readonly RegionId[] {
    return [this.state.region];
  }

  invariants(): void {
    const { lst, rst } = this.#known();
    const { lst: lt, rst: rt } = this.#highest;
    invariant(lt <= lst && rt <= rst, () => `WC2: assigned ${lt}, ${rt}; installed ${lst}, ${rst}`);
    const { entries, own } = this.state.regional;
    if (entries === this.#checked) return; // the replicas' entries never fall
    this.#checked = entries;
    const confirmed = own();
    const exceeds = entries.some((ts, i) => ts > (confirmed[i] ?? ts));
    invariant(!exceeds, () => `WC3: LST and RST ${entries}, on disk ${confirmed}`);
  }

  /** LST and RST at this node: at least UST, which every entry of every replica has reached. */
  #known(): { lst: Timestamp; rst: Timestamp; ust: Timestamp } {
    const { regional, stable } = this.state;
    const ust = stable.aggregated;
    const [local = 0, remote = local] = regional.entries;
    return { lst: Math.max(local, ust), rst: Math.max(remote, ust), ust };
  }

  #assigned(snapshot: Snapshot, local: Timestamp, remote: Timestamp): Snapshot {
    const { lst, rst } = this.#highest;
    this.#highest = { lst: Math.max(lst, local), rst: Math.max(rst, remote) };
    return snapshot;
  }
}

/** Alg. 3 lines 1–12. */
function reading({ partition, replication }: ReplicaView, { reader, topology }: NodeState): ReadRules {
  const regionOf = (place: number): RegionId | undefined => topology.regions[place - 1];
  return {
    ...byRule(partition, reader, (snapshot) => visible(snapshot, regionOf(partsOf(snapshot).place))),
    obstacle: (snapshot) => {
      const { lt, rt, place } = partsOf(snapshot);
      if (Math.min(lt, rt) < replication.gcFloor) return TOO_OLD;
      const local = regionOf(place);
      const lacks = (source: RegionId) => replication.vv.durable(source) < (source === local ? lt : rt);
      return topology.regions.some(lacks) ? NOT_RECOVERED : undefined;
    },
  };
}

/** Alg. 3 lines 7–8. A version with another protocol's time has no `rdt`: it may depend on anything below its time. */
function visible(snapshot: Snapshot, local: RegionId | undefined): Belongs {
  const { lt, rt } = partsOf(snapshot);
  return ({ ts: ut, region, deps }) => {
    const rdt = deps?.[0] ?? ut;
    return region === local ? ut <= lt && rdt <= rt : ut <= rt && rdt <= lt;
  };
}

/** The place of a snapshot that a region has assigned or of a commit; `NOWHERE` for no region. */
const placeOf = ({ regions }: Topology, region: RegionId): number => regions.indexOf(region) + 1;

/** No read waits at a replica: a version that it lacks was there before a restart, and will be there again soon. */
const NOT_RECOVERED: Refusal = {
  code: 'SNAPSHOT_UNAVAILABLE',
  detail: 'This replica has not recovered up to the snapshot yet; try again.',
};
