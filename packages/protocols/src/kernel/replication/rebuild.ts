/**
 * A node without trustworthy data comes back (D10; the paper stops before this). A node with a new disk asks every
 * other node. If the cluster has never had a stable time and no node holds data, it is the cluster's first start, and
 * there is nothing to fetch. Otherwise the node
 *
 * 1. takes the highest version clock that any node ever received from it as the floor of its own;
 * 2. copies each partition from the replica that has most of this node's versions, at that replica's durable version
 *    vector;
 * 3. collects from every other replica the versions that it sourced itself above the stable time that counts all nodes,
 *    and puts them into its log: some replicas may lack them;
 * 4. knows transactions with a `sentAfter` below its return (`incarnation`) only from the copies, answers LOST about
 *    the others, and joins; all in one durable batch.
 *
 * Under protocols with a gate (`gate.ts`) the versions of other regions are copied up to the stable time only: higher
 * ones may depend on versions that this region lacks, so they come from the logs, through the gate.
 *
 * Until then it prepares nothing, sends no version clock and serves no snapshot; UST stands still, safely. A
 * rolled-back or damaged disk is treated as a lost one: the node stops with REBUILD_NEEDED, its driver sets the old
 * data aside and starts it on an empty store.
 */
import {
  IsochronError,
  type NodeId,
  type PartitionId,
  type QualifiedKey,
  type RegionId,
  type Timestamp,
  type WallMs,
} from '@isochron/core';
import type { Address, Effects, Input, Machine, WriteSeq } from '../../machine.js';
import { Addresses, type NodeState } from '../node-state.js';
import { Gathered } from './gathered.js';
import type { CopyResp, JoinResp, ReplicationMessage } from './messages.js';
import type { RebuiltReplica } from './replica-state.js';
import type { Replication } from './replication.js';

type Out = Effects<ReplicationMessage>;

const MACHINE = 'rebuild';
/** Questions to nodes are repeated after this time. */
const RETRY_MS = 500;
/** A page that does not arrive is requested again after this time; the first complete answer counts. */
const PAGE_RETRY_MS = 3_000;
/** A copy without progress for this long starts over, perhaps from another replica. */
const STALLED_MS = 30_000;

/** What is still to be fetched, in order. */
interface Fetch {
  readonly partition: PartitionId;
  readonly from: Address;
  /** All versions, or those that this region sourced above `above`. */
  readonly source: RegionId | null;
  readonly above: Timestamp;
  readonly clock: Timestamp;
}

/** The interface of a replica for losing and copying its data. */
export interface RebuildableReplica {
  readonly partition: PartitionId;
  readonly replication: Replication;
  /** A stable time: versions, log entries and outcomes are dropped below stable times only. */
  readonly droppedUpTo: Timestamp;
  /** Whether it has transactions that are undecided or not applied. */
  readonly undecided: boolean;
  /** Starts its work with copied data. */
  join(rebuilt: RebuiltReplica, now: WallMs, out: Out): void;
}

/** How a node comes back. */
export interface RebuildOptions {
  /** An operator accepts that partitions without any copy come back empty. */
  readonly acceptLoss: boolean;
  /** This node had data, which were set aside. */
  readonly setAside: boolean;
  /** Whether the node settles the losses of the disk before it takes part again. */
  readonly settles: boolean;
}

/** The progress of a node on its way back. */
export interface RebuildStatus {
  readonly joined: boolean;
  /** Why the node takes no new work and waits to be rebuilt. */
  readonly retiring: string | null;
  /** Transactions with a `sentAfter` below may have been lost here. */
  readonly incarnation: Timestamp;
  readonly answered: readonly NodeId[];
  /** What is still to be fetched; null until that is planned. */
  readonly remaining: readonly { readonly partition: PartitionId; readonly from: NodeId }[] | null;
  /** Partitions without data on any node although the cluster had data: only an operator can give them up. */
  readonly lostPartitions: readonly PartitionId[];
  readonly counters: { readonly asked: number; readonly pages: number; readonly versions: number };
}

export class Rebuild implements Machine<ReplicationMessage> {
  readonly counters = { asked: 0, pages: 0, versions: 0 };
  readonly #addresses: Addresses;
  readonly #answers = new Map<NodeId, JoinResp>();
  readonly #replicas: ReadonlyMap<PartitionId, RebuildableReplica>;
  readonly #gathered = new Map<PartitionId, Gathered>();
  #fetches: Fetch[] | undefined;
  #start: QualifiedKey = '';
  #ref = 0;
  /** First question for the present page, and the number of received parts of each answer. */
  #pageRef = 0;
  readonly #parts = new Map<number, CopyResp[]>();
  /** Nodes whose data are in this copy: their data must not count as lost before the copy is whole. */
  readonly #copiedFrom = new Set<NodeId>();
  /** When another node last reported to this retiring node that it has data. */
  readonly #holders = new Map<NodeId, WallMs>();
  #askedAt: WallMs = 0;
  #progressAt: WallMs = 0;
  #persisted: WriteSeq = 0;
  /** The next page, or the end, waits for this batch. */
  #writing: { seq: WriteSeq; then: (now: WallMs, out: Out) => void } | undefined;

  constructor(
    readonly state: NodeState,
    replicas: readonly RebuildableReplica[],
    readonly options: RebuildOptions,
    /** Another node has lost its disk. */
    readonly lost: (node: NodeId) => void,
  ) {
    this.#addresses = new Addresses(state.maps);
    this.#replicas = new Map(replicas.map((replica) => [replica.partition, replica]));
  }

  step(input: Input<ReplicationMessage>, out: Out): void {
    switch (input.kind) {
      case 'message':
        this.#onMessage(input.message, input.from, input.now, out);
        return;
      case 'timer':
        this.#onTimer(input.now, out);
        out.setTimer('rebuild', input.now + RETRY_MS);
        return;
      case 'link':
        // The plan of a copy stays in force to its end.
        if (this.#fetches !== undefined) return;
        if (!input.up) this.#answers.delete(input.node);
        else if (!this.state.membership.joined) this.#ask(input.node, out);
        return;
      case 'persisted':
        this.#persisted = input.upTo;
        this.#written(input.now, out);
    }
  }

  invariants(): void {}

  describe(): RebuildStatus {
    const { joined, retiring, incarnation } = this.state.membership;
    const remaining = this.#fetches?.map(({ partition, from }) => ({ partition, from: from.node }));
    return {
      joined,
      retiring: retiring ?? null,
      incarnation,
      answered: [...this.#answers.keys()],
      remaining: remaining ?? null,
      lostPartitions: joined || this.#fetches !== undefined ? [] : this.#withoutSource(),
      counters: this.counters,
    };
  }

  #onMessage(message: ReplicationMessage, from: Address, now: WallMs, out: Out): void {
    if (message.type === 'JoinReq') this.#onJoinReq(from, out);
    else if (message.type === 'JoinResp') this.#onJoinResp(message, from, now, out);
    else if (message.type === 'CopyResp') this.#onCopyResp(message, from, now, out);
  }

  #onTimer(now: WallMs, out: Out): void {
    const { membership } = this.state;
    if (membership.joined && membership.retiring !== undefined) this.#retire(membership.retiring, now, out);
    if (membership.joined || this.#writing !== undefined) return;
    if (this.#fetches === undefined) {
      for (const other of this.#others) this.#ask(other, out);
      this.#plan(now, out);
    } else if (now - this.#progressAt > STALLED_MS) {
      throw new IsochronError('REBUILD_NEEDED', 'The source of the copy does not answer; the copy starts over.');
    } else if (now - this.#askedAt >= PAGE_RETRY_MS) this.#request(now, out);
  }

  #ask(node: NodeId, out: Out): void {
    this.counters.asked++;
    out.send({ node, machine: MACHINE }, { type: 'JoinReq' });
  }

  #onJoinReq(from: Address, out: Out): void {
    const { membership, topology, maps } = this.state;
    // A node in the present copy that has lost its disk since waits for the copy: its latest versions may be nowhere
    // else.
    if (!topology.nodes.includes(from.node) || maps.isEvicted(from.node)) return;
    this.lost(from.node);
    if (this.#copiedFrom.has(from.node)) return;
    const region = topology.regionOf(from.node);
    const clocks = topology
      .partitionsOn(from.node)
      .filter((partition) => this.#replicas.get(partition)?.replication.vv.has(region))
      .map((partition) => ({ partition, clock: this.#replicas.get(partition)!.replication.vv.applied(region) }));
    const { joined } = membership;
    const { setAside } = this.options;
    const retiring = membership.retiring !== undefined;
    const ust = this.#known;
    const everywhere = Math.min(ust, ...topology.nodes.map((node) => maps.confirmed([node], ust)));
    const { version: map } = topology;
    const times = map === 0 ? { ust } : { ust, everywhere, map };
    out.send(from, { type: 'JoinResp', joined, retiring, setAside, ...times, clocks });
  }

  /**
   * The highest stable time that this node knows: a copy that ended below would need a log that this node has dropped.
   * After a rebuild no stable time is aggregated yet, and after a crash a lower stable time may be on the disk.
   */
  get #known(): Timestamp {
    const dropped = [...this.#replicas.values()].map(({ droppedUpTo }) => droppedUpTo);
    return Math.max(this.state.stable.aggregated, this.#stable, ...dropped);
  }

  #onJoinResp(message: JoinResp, from: Address, now: WallMs, out: Out): void {
    if (message.joined && !message.retiring) this.#holders.set(from.node, now);
    else this.#holders.delete(from.node);
    if (this.state.membership.joined || this.#fetches !== undefined) return;
    this.#answers.set(from.node, message);
    this.#plan(now, out);
  }

  /** The cluster had data if a node reports a stable time, or a version clock of this node. */
  get #hadData(): boolean {
    if (this.options.setAside) return true;
    return [...this.#answers.values()].some(
      ({ setAside, ust, clocks }) => setAside || ust > 0 || clocks.some(({ clock }) => clock > 0),
    );
  }

  /** The highest reported stable time: everything that was decided below is applied everywhere. */
  get #stable(): Timestamp {
    return Math.max(0, ...[...this.#answers.values()].map(({ ust }) => ust));
  }

  /** The highest reported stable time that counts every node, also those that are no members. */
  get #everywhere(): Timestamp {
    return Math.max(0, ...[...this.#answers.values()].map(({ ust, everywhere = ust }) => everywhere));
  }

  get #allAnswered(): boolean {
    return this.#others.every((node) => this.#answers.has(node));
  }

  /** The other nodes, except nodes that never come back (M14). */
  get #others(): readonly NodeId[] {
    const { topology, node, maps } = this.state;
    return topology.nodes.filter((other) => other !== node && maps.isAwaited(other));
  }

  /** Starts fetching once the source of every partition is known, or known to be missing. */
  #plan(now: WallMs, out: Out): void {
    const plans = new Map<PartitionId, readonly Fetch[]>();
    for (const partition of this.#replicas.keys()) {
      const plan = this.#planOf(partition);
      if (plan === undefined) return;
      plans.set(partition, plan);
    }
    this.#progressAt = now;
    this.#fetches = [...plans.values()].flat();
    for (const partition of plans.keys()) {
      const clock = Math.max(0, ...this.#othersOf(partition).map((other) => this.#clockAt(other, partition)));
      const gated = this.#replicas.get(partition)!.replication.gate !== undefined;
      const others = gated ? this.#stable : Number.POSITIVE_INFINITY;
      this.#gathered.set(partition, new Gathered(partition, this.state.region, clock, this.#everywhere, others));
    }
    // No timestamp that was ever published from here lies above the clock and its durable ceiling.
    const highest = Math.max(0, ...[...this.#gathered.values()].map(({ clock }) => clock));
    // Above the references of every previous incarnation: answers to those may still arrive.
    this.#ref = this.state.clock.propose(now, highest, out);
    this.#afterWrites((later, laterOut) => this.#fetch(later, laterOut), now, out);
  }

  /** The fetches of a partition; undefined while its source is unknown, or when the data are lost everywhere. */
  #planOf(partition: PartitionId): Fetch[] | undefined {
    const others = this.#othersOf(partition);
    if (!others.every(({ node }) => this.#answers.has(node))) return undefined;
    const holders = others.filter(({ node }) => this.#answers.get(node)!.joined);
    if (holders.length === 0) {
      return this.#allAnswered && (!this.#hadData || this.options.acceptLoss) ? [] : undefined;
    }
    const clockAt = (holder: Address) => this.#clockAt(holder, partition);
    const mapAt = ({ node }: Address) => this.#answers.get(node)?.map ?? 0;
    // A node that is no member may lack what the members have.
    const isBetter = (one: Address, other: Address) =>
      mapAt(one) === mapAt(other) ? clockAt(one) > clockAt(other) : mapAt(one) > mapAt(other);
    const source = holders.reduce((best, next) => (isBetter(next, best) ? next : best));
    const all: Fetch = { partition, from: source, source: null, above: 0, clock: clockAt(source) };
    const { region } = this.state;
    const collects = holders.filter((holder) => holder !== source);
    const above = this.#everywhere;
    return [all, ...collects.map((from) => ({ partition, from, source: region, above, clock: clockAt(from) }))];
  }

  #othersOf(partition: PartitionId): Address[] {
    const { topology, region } = this.state;
    const regions = topology.partitions[partition]!.regions.filter((other) => other !== region);
    const addresses = regions.map((other) => this.#addresses.replica(partition, other));
    return addresses.filter(({ node }) => this.state.maps.isAwaited(node));
  }

  /** The highest version clock that a replica has received from here. */
  #clockAt({ node }: Address, partition: PartitionId): Timestamp {
    return this.#answers.get(node)?.clocks.find((entry) => entry.partition === partition)?.clock ?? 0;
  }

  #withoutSource(): PartitionId[] {
    if (!this.#allAnswered || !this.#hadData) return [];
    return [...this.#replicas.keys()].filter((partition) => this.#planOf(partition) === undefined);
  }

  /** Goes on to the next page, or ends. */
  #fetch(now: WallMs, out: Out): void {
    this.#pageRef = this.#ref + 1;
    this.#parts.clear();
    if (this.#fetches!.length === 0) this.#finish(now, out);
    else this.#request(now, out);
  }

  #request(now: WallMs, out: Out): void {
    const { partition, from, source, above, clock } = this.#fetches![0]!;
    this.#ref++;
    this.#askedAt = now;
    this.#copiedFrom.add(from.node);
    out.send(from, { type: 'CopyReq', ref: this.#ref, partition, start: this.#start, source, above, clock });
  }

  #onCopyResp(page: CopyResp, from: Address, now: WallMs, out: Out): void {
    const fetch = this.#fetches?.[0];
    if (fetch === undefined || page.ref < this.#pageRef || this.#writing !== undefined) return;
    const parts = this.#parts.get(page.ref) ?? [];
    if (from.node !== fetch.from.node || page.part !== parts.length) return;
    parts.push(page);
    this.#parts.set(page.ref, parts);
    this.#askedAt = now;
    this.#progressAt = now;
    if (parts.length < page.parts) return;
    // A page is used only when it is whole: two answers may lie before and after a collection.
    const gathered = this.#gathered.get(fetch.partition)!;
    for (const part of parts) this.counters.versions += gathered.take(part, fetch.source, out);
    this.counters.pages++;
    if (page.next === null) this.#fetches!.shift();
    this.#start = page.next ?? '';
    this.#afterWrites((later, laterOut) => this.#fetch(later, laterOut), now, out);
  }

  #afterWrites(then: (now: WallMs, out: Out) => void, now: WallMs, out: Out): void {
    this.#writing = { seq: out.lastWrite(), then };
    this.#written(now, out);
  }

  #written(now: WallMs, out: Out): void {
    const writing = this.#writing;
    if (writing === undefined || writing.seq > this.#persisted) return;
    this.#writing = undefined;
    writing.then(now, out);
  }

  /** Writes all data that the node needs to continue, in one batch. */
  #finish(now: WallMs, out: Out): void {
    const { clock, membership } = this.state;
    const newest = Math.max(0, ...[...this.#gathered.values()].map((gathered) => gathered.newest));
    const incarnation = this.#hadData ? clock.propose(now, newest, out) : 0;
    const forgottenUpTo = this.#stable;
    const rebuilt = [...this.#gathered].map(([id, gathered]) => [id, gathered.finish(forgottenUpTo, out)] as const);
    // A disk that is lost before its peers have received anything from it looks like a first start: there is nothing to
    // settle.
    const unsettledAfter = this.options.settles && this.#hadData ? Math.max(1, forgottenUpTo) : 0;
    out.write({ kind: 'meta', name: 'lostUpTo', value: incarnation });
    out.write({ kind: 'meta', name: 'unsettled', value: unsettledAfter });
    out.write({ kind: 'meta', name: 'joined', value: 1 });
    this.#afterWrites(
      (later, laterOut) => {
        membership.join(incarnation, unsettledAfter);
        for (const [partition, replica] of rebuilt) this.#replicas.get(partition)!.join(replica, later, laterOut);
        this.#gathered.clear();
        this.#copiedFrom.clear();
      },
      now,
      out,
    );
  }

  /**
   * A damaged disk is given up once all its data are elsewhere: every own transaction is decided and universally
   * stable, and for each partition another node reports that it has it. A sole copy is never given up.
   */
  #retire(reason: string, now: WallMs, out: Out): void {
    const { aggregated } = this.state.stable;
    const others = [...this.#replicas.keys()].map((partition) => this.#othersOf(partition));
    for (const { node } of others.flat()) this.#ask(node, out);
    const held = ({ node }: Address) => now - (this.#holders.get(node) ?? Number.NEGATIVE_INFINITY) <= 2 * RETRY_MS;
    if (!others.every((holders) => holders.some(held))) return;
    for (const { undecided, replication } of this.#replicas.values()) {
      if (undecided || replication.lastLogged > aggregated) return;
    }
    throw new IsochronError('REBUILD_NEEDED', reason);
  }
}
