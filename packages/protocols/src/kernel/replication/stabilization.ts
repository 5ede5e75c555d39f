/**
 * Stabilisation (Algorithm 4 lines 34–38): the minimum of the durable version vectors goes up a tree over the region's
 * nodes, the roots exchange it, and the universal stable time flows down. The same messages carry `sOld` (P9), and the
 * time that every node of every region serves (P14): each node contributes the stable time on its disk, from which it
 * starts after a crash. They also carry the highest time that a caller waits for, so that every node writes its stable
 * time as soon as that time is reached, and not only every 100 ms.
 *
 * Deviations: P13 (membership is the cluster file's; a root sends nothing until every child has reported; no node
 * replaces a root, because UST needs the root's own replicas in any case), P12 (its messages share the frames of
 * replication, whose rounds lie on the same grid), T1 (they carry the wall clock for the drift watch), T2 (in every
 * round they bring the clock on their frames to every node). Once all regions' minima are known, UST is computed on
 * receipt, not on a timer of its own (Δ_U = 0).
 *
 * Invariants: PU1 UST never falls. PU2 a node's UST does not exceed the durable minimum of its own replicas.
 */
import {
  type Deps,
  invariant,
  type NodeId,
  type RegionId,
  type Timestamp,
  type Topology,
  type WallMs,
  wallOf,
} from '@isochron/core';
import type { Address, Effects, Input, Machine, WriteSeq } from '../../machine.js';
import { MINIMUM } from '../maps/maps.js';
import type { NodeState } from '../node-state.js';
import { Aggregator, aggregate, type Contribution, treeOf } from './aggregation.js';
import type { GossipDown, GossipRoot, GossipUp, HeldBackBy, ReplicationMessage } from './messages.js';

type Out = Effects<ReplicationMessage>;

/** This node's own contribution. */
export interface OwnContribution {
  /** Durable minimum over the node's replicas; null without any. */
  gst(): Timestamp | null;
  /** The writes that this minimum waits for. */
  heldBackBy(): HeldBackBy | undefined;
  /** Oldest snapshot in use by the node's coordinator. */
  sOld(): Timestamp;
}

/** Name of the machine. */
export const STABILIZATION_MACHINE = 'stabilization';
/** A node with a clock that is too far from the others compares it anew at most this often (K2). */
const COMPARE_MS = 1_000;
/** A minimum that is older than this is reported with the writes that it waits for. */
const OLD_MS = 1_000;
/** UST goes to disk at least this often (D7); */
const PERSIST_UST_MS = 100;
/** … and this often while nothing is written. */
const PERSIST_IDLE_UST_MS = 1_000;

export class Stabilization implements Machine<ReplicationMessage> {
  readonly counters = { up: 0, root: 0, down: 0, ustRaises: 0 };
  #parent: NodeId | null = null;
  #children: readonly NodeId[] = [];
  /** Nodes that are no members, and receive stable times from here. */
  #followers: readonly NodeId[] = [];
  /** The oldest snapshot in use at each of them: nothing above it is collected anywhere (P9). */
  readonly #followed = new Map<NodeId, Timestamp>();
  /** Of the other regions. */
  #roots: readonly NodeId[] = [];
  #subtree = new Aggregator<NodeId>([]);
  #regions = new Aggregator<RegionId>([]);
  readonly #down = new Set<NodeId>();
  #persistedAt: WallMs = 0;
  #persisted: WriteSeq = 0;
  /** The clock when the map was adopted. */
  #adoptedAt: Timestamp = 0;
  #comparedAt: WallMs = 0;
  #asked: { ust: Timestamp; seq: WriteSeq };
  /** The stable time from which this node would start after a crash: nothing above it is collected anywhere (P9). */
  #durableUst: Timestamp;
  /** The highest own minimum that is written, and the highest that is on the disk. */
  #written: { readonly minimum: Timestamp; readonly seq: WriteSeq };
  #durableMinimum: Timestamp;
  #sentDown: Timestamp = 0;
  #sentSOld: Timestamp = 0;
  #sentRegional: Deps = [];
  #sentServed: Timestamp = 0;
  /** The highest time that a caller of any node waits for until it is served, as last aggregated. */
  #wanted: Timestamp = 0;
  /** As last aggregated. */
  #heldBackBy: HeldBackBy | undefined;
  #sentWanted: Timestamp = 0;
  /** As last aggregated under this map. */
  #fence: Timestamp | undefined;
  /** Whether anything was sent to the children since the last round. */
  #sentThisRound = false;

  constructor(
    readonly state: NodeState,
    readonly own: OwnContribution,
    /** The minimum that the disk has. */
    minimum: Timestamp,
  ) {
    const { topology, node } = state;
    for (const peer of topology.nodes) if (peer !== node) this.#down.add(peer);
    this.adopted();
    this.#durableUst = state.stable.aggregated;
    this.#asked = { ust: this.#durableUst, seq: 0 };
    this.#written = { minimum, seq: 0 };
    this.#durableMinimum = minimum;
  }

  /** A map is in force: its members report anew, up their own tree. */
  adopted(): void {
    const { topology, node, region, settings, clock, stable, maps } = this.state;
    if (topology.version > 0) {
      this.#adoptedAt = clock.last;
      this.#fence = undefined;
      stable.adopted();
      this.#written = { minimum: topology.map.horizon, seq: maps.adoptedBy };
      this.#durableMinimum = topology.map.horizon;
    }
    const regions = topology.regions.filter((other) => rootOf(topology, other) !== undefined);
    const isMember = topology.isMember(node);
    /** The member from which a node that is away receives stable times. */
    const guideOf = (other: NodeId) => rootOf(topology, topology.regionOf(other)) ?? rootOf(topology, regions[0]!)!;
    const alone = { parent: guideOf(node), children: [] };
    const { parent, children } = isMember ? treeOf(treeOrder(topology, region), node, settings.treeFanOut) : alone;
    const others = topology.nodes.filter((other) => !topology.isMember(other) && !topology.evicted.includes(other));
    this.#followed.clear();
    this.#followers = others.filter((other) => other !== node && guideOf(other) === node);
    this.#roots = isMember ? regions.filter((other) => other !== region).map((other) => rootOf(topology, other)!) : [];
    this.#parent = parent;
    this.#children = children;
    this.#subtree = new Aggregator(children);
    this.#regions = new Aggregator(regions);
  }

  /** Whether this node represents its region. */
  get isRoot(): boolean {
    return this.#parent === null && this.#isMember;
  }

  /** What stable time waits for, while it is old: by the aggregated reports, not by the data of this node. */
  get heldBackBy(): HeldBackBy | undefined {
    if (!this.isRoot) return this.#heldBackBy;
    const [region] = this.#regions.missing;
    return region === undefined ? this.#heldBackBy : { region };
  }

  /** Whether UST has been computed or received since the start. */
  get hasStableTime(): boolean {
    return this.state.stable.aggregated > 0;
  }

  step(input: Input<ReplicationMessage>, out: Out): void {
    switch (input.kind) {
      case 'message':
        this.#onMessage(input.message, input.from, input.now, out);
        return;
      case 'timer':
        this.#gossip(input.now, out);
        this.#repeatDown(input.now, out);
        this.#compareClocks(input.now, out);
        return;
      case 'link':
        if (input.up) this.#down.delete(input.node);
        else this.#down.add(input.node);
        return;
      case 'persisted':
        this.state.clock.persisted(input.upTo);
        this.#persisted = input.upTo;
        if (this.#asked.seq <= input.upTo) this.#durableUst = this.#asked.ust;
        if (this.#written.seq <= input.upTo) this.#durableMinimum = this.#written.minimum;
        return;
    }
  }

  /**
   * A node has lost its disk (D10): it no longer has the data that it confirmed, and every sum that counts them is too
   * high. Until the sums are reported anew, without it, no report is sent.
   */
  onDataLoss(node: NodeId): void {
    const region = this.state.topology.regionOf(node);
    this.#regions.drop(region);
    if (region === this.state.region) for (const child of this.#children) this.#subtree.drop(child);
  }

  invariants(): void {
    const { aggregated } = this.state.stable;
    const bound = this.state.stable.confirmed(aggregated);
    invariant(aggregated <= bound, () => `PU2: ust ${aggregated} above the durable minimum ${bound}`);
  }

  describe(): object {
    const { stable, drift } = this.state;
    return {
      ust: stable.value,
      sOld: stable.sOld,
      served: stable.served,
      isRoot: this.isRoot,
      missingChildren: this.#subtree.missing,
      missingRegions: this.#regions.missing,
      medianDriftMs: drift.medianMs,
      counters: { ...this.counters, refusedUst: stable.refused },
    };
  }

  #onMessage(message: ReplicationMessage, from: Address, now: WallMs, out: Out): void {
    if (isReport(message)) {
      this.state.drift.observe(from.node, message.wallMs, now);
      if (this.state.maps.isAdopting || (message.map ?? 0) !== this.state.topology.version) return;
    }
    if (message.type === 'GossipUp') this.#onGossipUp(message, from);
    else if (message.type === 'GossipRoot') this.#onGossipRoot(message, from, now, out);
    else if (message.type === 'GossipDown') this.#onGossipDown(message, from, now, out);
    else if (message.type === 'ClockReq') out.send(from, { type: 'ClockResp', wallMs: this.state.drift.wall(now) });
  }

  /**
   * Most clocks were compared when the links opened, maybe long ago. A node whose clock seems wrong asks all others:
   * their clocks may have been corrected since, like its own (K2). `PeerClocks` takes the answers.
   */
  #compareClocks(now: WallMs, out: Out): void {
    const { drift, topology } = this.state;
    if (!drift.excessive || Math.abs(now - this.#comparedAt) < COMPARE_MS) return;
    this.#comparedAt = now;
    for (const node of topology.nodes)
      if (node !== this.state.node && !this.#down.has(node))
        out.send({ node, machine: STABILIZATION_MACHINE }, { type: 'ClockReq' });
  }

  #onGossipUp(message: GossipUp, from: Address): void {
    if (this.#followers.includes(from.node)) this.#followed.set(from.node, message.sOld);
    if (!this.#children.includes(from.node)) return;
    if (this.state.regional.fits(message.regional ?? [])) this.#subtree.report(from.node, contributionOf(message));
  }

  #onGossipRoot(message: GossipRoot, from: Address, now: WallMs, out: Out): void {
    const { region, regional = [] } = message;
    if (rootOf(this.state.topology, region) !== from.node || !this.state.regional.fits(regional)) return;
    this.#regions.report(region, contributionOf(message));
    this.#computeUst(now, out);
  }

  #onGossipDown(message: GossipDown, from: Address, now: WallMs, out: Out): void {
    if (from.node !== this.#parent) return;
    if (message.regional?.length === this.state.regional.size) this.state.regional.raise(message.regional);
    this.#wanted = message.wanted ?? 0;
    this.#heldBackBy = message.heldBackBy;
    this.#fence = message.fence;
    this.#raise(message.ust, message.sOld, message.served ?? 0, now, out);
  }

  /** Alg. 4 lines 34–35. A sealed node reports nothing (M2). */
  #gossip(now: WallMs, out: Out): void {
    if (this.state.maps.isSealed || this.state.maps.isAdopting) return;
    const contribution = this.#isMember ? this.#contribution(now, out) : this.#use();
    if (contribution === undefined) return;
    const { gst, sOld, regional, served, wanted, heldBackBy, fence } = contribution;
    const rest = { ...serviceOf(served, wanted, heldBackBy), ...this.#mapOf(fence) };
    const wallMs = this.state.drift.wall(now);
    if (this.#parent !== null && !this.#down.has(this.#parent)) {
      this.counters.up++;
      out.send(
        { node: this.#parent, machine: STABILIZATION_MACHINE },
        { type: 'GossipUp', gst, sOld, wallMs, ...regionalOf(regional), ...rest },
      );
    }
    if (!this.isRoot) return;
    const { region } = this.state;
    const { everywhere } = this.state.regional;
    if (!everywhere) this.state.regional.raise(regional);
    const summed = everywhere ? regional : [];
    this.#regions.report(region, { ...contribution, regional: summed });
    for (const root of this.#roots) {
      if (this.#down.has(root)) continue;
      this.counters.root++;
      out.send(
        { node: root, machine: STABILIZATION_MACHINE },
        { type: 'GossipRoot', region, gst, sOld, wallMs, ...regionalOf(summed), ...rest },
      );
    }
    this.#computeUst(now, out);
  }

  #mapOf(fence: Timestamp | undefined): { readonly map?: number; readonly fence?: Timestamp } {
    const { version } = this.state.topology;
    return version === 0 ? {} : { map: version, ...(fence !== undefined && { fence }) };
  }

  #contribution(now: WallMs, out: Out): Contribution | undefined {
    const children = this.#subtree.complete();
    if (children === undefined) return undefined;
    const linked = this.#followers.filter((node) => !this.#down.has(node));
    const { wanted, sOld: known, aggregated } = this.state.stable;
    const { sOld } = this.#use();
    const followed = linked.map((node) => this.#followed.get(node) ?? known);
    const regional = this.state.regional.contribution(now);
    const gst = this.#lasting(this.own.gst(), out);
    const heldBackBy = gst !== null && this.#isOld(gst, now) ? this.own.heldBackBy() : undefined;
    const fence = this.#adoptedAt > aggregated ? this.#adoptedAt : 0;
    const own = {
      gst,
      sOld: Math.min(sOld, ...followed),
      regional,
      served: this.#durableUst,
      wanted,
      heldBackBy,
      fence,
    };
    return aggregate([own, ...children]);
  }

  /**
   * Where nodes are suspended by themselves, a report waits until a crash does not lower its minimum: the horizon of
   * the next map is above each stable time that the reports have permitted (M3).
   */
  #lasting(minimum: Timestamp | null, out: Out): Timestamp | null {
    if (minimum === null || !this.#maySuspend) return minimum;
    if (minimum > this.#written.minimum && this.#written.seq <= this.#persisted)
      this.#written = { minimum, seq: out.write({ kind: 'meta', name: MINIMUM, value: minimum }) };
    return Math.min(minimum, this.#durableMinimum);
  }

  /** The report of a node that is no member: the snapshots in use there, and no data. */
  #use(): Contribution {
    const sOld = Math.min(this.own.sOld(), this.#durableUst);
    return { gst: null, sOld, regional: [], served: 0, wanted: 0, heldBackBy: undefined, fence: 0 };
  }

  get #maySuspend(): boolean {
    return this.state.stableSnapshots && this.state.settings.suspendAfterMs > 0;
  }

  get #isMember(): boolean {
    return this.state.topology.isMember(this.state.node);
  }

  #isOld(ts: Timestamp, now: WallMs): boolean {
    return wallOf(ts) < this.state.drift.wall(now) - OLD_MS;
  }

  /** Alg. 4 lines 36–38. */
  #computeUst(now: WallMs, out: Out): void {
    const regions = this.#regions.complete();
    const minimum = regions === undefined ? undefined : aggregate(regions);
    if (minimum === undefined || minimum.gst === null) return;
    if (this.state.regional.everywhere) this.state.regional.raise(minimum.regional);
    this.#wanted = minimum.wanted;
    this.#fence = minimum.fence;
    this.#heldBackBy = this.#isOld(minimum.gst, now) ? (minimum.heldBackBy ?? this.#slowest(minimum.gst)) : undefined;
    this.#raise(minimum.gst, minimum.sOld, minimum.served, now, out);
  }

  /** The region whose report is the minimum, and comes from a time when that was not old. */
  #slowest(gst: Timestamp): HeldBackBy | undefined {
    const region = this.#regions.memberAt(gst);
    return region === undefined ? undefined : { region };
  }

  #raise(ust: Timestamp, sOld: Timestamp, served: Timestamp, now: WallMs, out: Out): void {
    const { stable } = this.state;
    if (ust > stable.aggregated) this.counters.ustRaises++;
    stable.aggregate(ust, sOld, served, this.#fence);
    this.#persist(now, out);
    this.#sendDown(now, out);
  }

  /** At its interval, and at once if a caller waits for a time that has become stable (P14). */
  #persist(now: WallMs, out: Out): void {
    const { aggregated: ust } = this.state.stable;
    const isWaitedFor = this.#wanted > this.#asked.ust && this.#wanted <= ust;
    const everyMs = this.state.activity.isIdle(now) ? PERSIST_IDLE_UST_MS : PERSIST_UST_MS;
    if (ust <= this.#asked.ust || (now - this.#persistedAt < everyMs && !isWaitedFor)) return;
    this.#persistedAt = now;
    this.#asked = { ust, seq: out.write({ kind: 'meta', name: 'ust', value: ust }) };
    // Operators may suspend a node that has been silent for a while: the minimum has stood still since.
    const minimum = this.state.stableSnapshots ? this.own.gst() : null;
    if (minimum !== null && minimum > this.#written.minimum) out.write({ kind: 'meta', name: MINIMUM, value: minimum });
  }

  /** Sends every change at once. */
  #sendDown(now: WallMs, out: Out): void {
    const { aggregated: ust, sOld, served } = this.state.stable;
    const { entries: regional } = this.state.regional;
    const wanted = this.#wanted;
    const isOld = ust === this.#sentDown && sOld === this.#sentSOld && regional === this.#sentRegional;
    if (isOld && served === this.#sentServed && wanted === this.#sentWanted) return;
    this.#sentDown = ust;
    this.#sentSOld = sOld;
    this.#sentRegional = regional;
    this.#sentServed = served;
    this.#sentWanted = wanted;
    this.#sendToChildren(now, out);
  }

  /**
   * Once in a round also unchanged values, for the clock on the frame (T2): a child may receive no other frames. A
   * child that does not know how far another clock ran ahead would hold UST back, and then UST would never change.
   */
  #repeatDown(now: WallMs, out: Out): void {
    if (!this.#sentThisRound && this.#sentDown > 0) this.#sendToChildren(now, out);
    this.#sentThisRound = false;
  }

  #sendToChildren(now: WallMs, out: Out): void {
    const [ust, sOld, regional] = [this.#sentDown, this.#sentSOld, this.#sentRegional];
    const rest = {
      wallMs: this.state.drift.wall(now),
      ...regionalOf(regional),
      ...serviceOf(this.#sentServed, this.#sentWanted, this.heldBackBy),
      ...this.#mapOf(this.#fence),
    };
    this.#sentThisRound = true;
    for (const node of [...this.#children, ...this.#followers]) {
      if (this.#down.has(node)) continue;
      this.counters.down++;
      out.send({ node, machine: STABILIZATION_MACHINE }, { type: 'GossipDown', ust, sOld, ...rest });
    }
  }
}

/**
 * A region's members in the order of its tree: those with replicas first. While an inner node is away, UST stands still
 * because of its own replicas. So no node needs to replace it, and none may: a node that does not receive its messages
 * cannot know its version vectors.
 */
function treeOrder(topology: Topology, region: RegionId): readonly NodeId[] {
  const nodes = topology.nodesOf(region).filter((node) => topology.isMember(node));
  const holds = (node: NodeId) => topology.partitionsOn(node).length > 0;
  return [...nodes.filter(holds), ...nodes.filter((node) => !holds(node))];
}

/** The node that represents a region; undefined for an unknown one, and for a region without a member. */
const rootOf = (topology: Topology, region: RegionId): NodeId | undefined =>
  topology.regions.includes(region) ? treeOrder(topology, region)[0] : undefined;

const isReport = (message: ReplicationMessage): message is GossipUp | GossipRoot | GossipDown =>
  message.type === 'GossipUp' || message.type === 'GossipRoot' || message.type === 'GossipDown';

const contributionOf = (report: GossipUp | GossipRoot): Contribution => {
  const { gst, sOld, regional = [], served = 0, wanted = 0, heldBackBy, fence = 0 } = report;
  return { gst, sOld, regional, served, wanted, heldBackBy, fence };
};

/** Omitted under protocols that do not use it. */
const regionalOf = (regional: Deps): { regional?: Deps } => (regional.length === 0 ? {} : { regional });

/** Empty fields are not sent. */
const serviceOf = (
  served: Timestamp,
  wanted: Timestamp,
  heldBackBy: HeldBackBy | undefined,
): Pick<GossipUp, 'served' | 'wanted' | 'heldBackBy'> => ({
  ...(served > 0 && { served }),
  ...(wanted > 0 && { wanted }),
  ...(heldBackBy && { heldBackBy }),
});
