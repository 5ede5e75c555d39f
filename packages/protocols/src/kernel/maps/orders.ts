/**
 * Orders of an operator about nodes: suspend members at once, keep nodes away, end that (M13), evict nodes that never
 * come back (M14). The node that receives an order asks voters for a map that carries the order out, until such a map
 * is adopted. An order that no map can carry out is refused; every node that judges an order uses the same rules.
 */
import type { NodeId, Topology, WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { TransactionMessage } from '../transactions/messages.js';
import type { EvictionResp, OrderRefusal, OrderReq } from './messages.js';
import { type MembersChange, majorityOf } from './proposal.js';

type Out = Effects<TransactionMessage>;

/** A voter is asked again after this time, and another voter after more of it. */
const ASK_MS = 300;
const PATIENCE_MS = 2_000;
/** An order is given up after this time. */
const LATE_MS = 10_000;

/** What an order is about. */
type OrderContent = Pick<OrderReq, 'action' | 'nodes'>;
type OrderProblem = { readonly why: OrderRefusal; readonly nodes: readonly NodeId[] };

interface OpenOrder extends OrderContent {
  readonly to: Address;
  readonly ref: number;
  /** The map that was in force when the order came. */
  readonly version: number;
  readonly since: WallMs;
  askedAt: WallMs;
  /** The members that have all of their data: of an eviction, which waits for all. */
  readonly whole: Set<NodeId>;
}

export class Orders {
  #open: OpenOrder | undefined;

  constructor(
    readonly state: NodeState,
    /** The nodes from which this node receives nothing. */
    readonly silent: () => readonly NodeId[],
    /** The machine that decides maps, at a node. */
    readonly mapsOf: (node: NodeId) => Address,
  ) {}

  /** Whether an order waits for its map. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  receive({ ref, action, nodes }: OrderReq, now: WallMs, from: Address, out: Out): void {
    if (from.node !== this.state.node) return;
    const order = { action, nodes: [...new Set(nodes)] };
    const refused = this.#open === undefined ? this.#refusal(order) : ({ why: 'another-order', nodes: [] } as const);
    if (refused !== undefined) out.send(from, { type: 'OrderResp', ref, ...refused });
    else {
      const { version } = this.state.topology;
      const asked = { since: now, askedAt: Number.NEGATIVE_INFINITY, whole: new Set<NodeId>() };
      this.#open = { ...order, ...asked, to: from, ref, version };
    }
  }

  /** A member reports whether it has all of its data. */
  reports({ isWhole }: EvictionResp, { node }: Address): void {
    if (isWhole) this.#open?.whole.add(node);
  }

  /** What a voter proposes for an order; undefined where no map can carry it out. */
  changeFor(order: OrderContent): MembersChange | undefined {
    return this.#refusal(order) === undefined ? changeFor(order, this.state.topology) : undefined;
  }

  /** Asks for the map of the open order until such a map is adopted, or no map can be. */
  goOn(now: WallMs, out: Out): void {
    const order = this.#open;
    if (order === undefined) return;
    const { maps, topology } = this.state;
    const later = Array.from({ length: topology.version - order.version }, (_, i) => maps.at(order.version + i + 1)!);
    if (later.some((map) => isDone(order, map))) this.#end(order, out);
    else if (Math.abs(now - order.since) >= LATE_MS) {
      const rebuilding = this.#rebuilding(order);
      this.#end(order, out, { why: rebuilding.length > 0 ? 'rebuilding' : 'late', nodes: rebuilding });
    } else if (Math.abs(now - order.askedAt) >= ASK_MS) {
      const refused = this.#refusal(order);
      if (refused === undefined) this.#ask(order, now, out);
      else this.#end(order, out, refused);
    }
  }

  /**
   * Members that have not reported that they have all of their data. A lost disk may wait for the nodes that are
   * evicted, and no map is decided before it is filled and settled.
   */
  #rebuilding({ action, whole }: OpenOrder): readonly NodeId[] {
    return action === 'evict' ? this.state.topology.members.filter((node) => !whole.has(node)) : [];
  }

  #ask(order: OpenOrder, now: WallMs, out: Out): void {
    order.askedAt = now;
    const { topology, node, maps } = this.state;
    const { action, nodes } = order;
    const rebuilding = this.#rebuilding(order);
    for (const member of rebuilding) out.send(this.mapsOf(member), { type: 'EvictionReq', nodes });
    if (rebuilding.length > 0) return;
    const answering = topology.voters.filter((voter) => !this.silent().includes(voter) && !nodes.includes(voter));
    const voters = [...answering].sort((a, b) => Number(b === node) - Number(a === node));
    const asked = voters[Math.floor(Math.abs(now - order.since) / PATIENCE_MS) % voters.length];
    const { version } = maps.newest;
    if (asked !== undefined) out.sendAfterPersist(this.mapsOf(asked), { type: 'ChangeReq', version, action, nodes });
  }

  #end({ to, ref }: OpenOrder, out: Out, refused?: OrderProblem): void {
    this.#open = undefined;
    out.sendAfterPersist(to, { type: 'OrderResp', ref, nodes: [], ...refused });
  }

  #refusal(order: OrderContent): OrderProblem | undefined {
    return refusalOf(order, this.state.topology, this.silent());
  }
}

function changeFor({ action, nodes }: OrderContent, topology: Topology): MembersChange {
  const others = (all: readonly NodeId[]) => all.filter((node) => !nodes.includes(node));
  const { members, held } = topology;
  if (action === 'return') return { members, held: others(held), isOrdered: true };
  if (action === 'evict') return { members, held: others(held), evicted: nodes, isOrdered: true };
  return { members: others(members), held: action === 'hold' ? [...held, ...nodes] : held, isOrdered: true };
}

function isDone({ action, nodes }: OrderContent, map: Topology): boolean {
  const { held, evicted } = map;
  if (action === 'evict') return nodes.every((node) => evicted.includes(node));
  if (action === 'hold') return nodes.every((node) => held.includes(node));
  if (action === 'return') return nodes.every((node) => !held.includes(node));
  return nodes.every((node) => !map.isMember(node));
}

/** Why no map carries an order out, and the nodes that are the reason. */
function refusalOf(order: OrderContent, topology: Topology, silent: readonly NodeId[]): OrderProblem | undefined {
  const isUnknown = (node: NodeId) => !topology.hasNode(node);
  const unknown = order.nodes.filter(isUnknown);
  if (unknown.length > 0) return { why: 'unknown-node', nodes: unknown };
  const contradiction = contradictions(order, topology, silent).find(({ nodes }) => nodes.length > 0);
  if (contradiction !== undefined) return contradiction;
  const { members } = changeFor(order, topology);
  const isMissing = (node: NodeId) => !members.includes(node) || silent.includes(node);
  const missing = topology.voters.filter(isMissing);
  if (topology.voters.length - missing.length < majorityOf(topology.voters))
    return { why: 'no-majority', nodes: missing };
  // A map needs the seal of every member that stays (M3).
  const waiting = members.filter((node) => silent.includes(node));
  if (waiting.length > 0) return { why: 'silent', nodes: waiting };
  const only = onlyReplicas(members, topology).filter((node) => !silent.includes(node));
  return only.length > 0 ? { why: 'only-replica', nodes: only } : undefined;
}

/** Why an order does not fit the state of nodes, and these nodes; perhaps none. The first reason with nodes counts. */
function contradictions(
  { action, nodes }: OrderContent,
  topology: Topology,
  silent: readonly NodeId[],
): OrderProblem[] {
  const { held, evicted } = topology;
  const where = (why: OrderRefusal, isTrue: (node: NodeId) => boolean) => ({ why, nodes: nodes.filter(isTrue) });
  const gone = where('evicted', (node) => evicted.includes(node));
  if (action === 'suspend') return [gone, where('away', (node) => !topology.isMember(node))];
  if (action === 'hold') return [gone, where('held', (node) => held.includes(node))];
  if (action === 'return') return [gone, where('not-held', (node) => !held.includes(node))];
  // What a node that answers has deferred would be lost.
  const answers = where('answers', (node) => !silent.includes(node));
  return [gone, where('member', (node) => topology.isMember(node)), answers];
}

/** The members that go, and have replicas of partitions of which no member that stays has a replica. */
function onlyReplicas(staying: readonly NodeId[], topology: Topology): readonly NodeId[] {
  const hostsOf = (partition: number) =>
    topology.partitions[partition]!.regions.map((region) => topology.replicaNode(partition, region)!);
  const isSpare = (partition: number) => hostsOf(partition).some((host) => staying.includes(host));
  const going = topology.members.filter((node) => !staying.includes(node));
  return going.filter((node) => !topology.partitionsOn(node).every(isSpare));
}
