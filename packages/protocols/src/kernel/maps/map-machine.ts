/**
 * The decision of a map (M1–M3), and its adoption (M5). Single-decree Paxos for each version: the promise of the
 * first phase is the seal, the value a map, whose horizon is the lowest durable minimum of its members, each at its
 * seal.
 *
 * A voter decides when a seal stays open: the decider may be gone. Without an accepted map it proposes the present
 * one again, with the horizon of the new seals: so the seal ends. Voters wait for different times; ballots make two
 * deciders harmless.
 *
 * | state of a node | meaning                                               | next                         |
 * | --------------- | ----------------------------------------------------- | ---------------------------- |
 * | open            | reports for stable time                               | sealed                       |
 * | sealed          | has promised the next version, and reports nothing    | decided                      |
 * | decided         | knows the next map, and lacks data up to its horizon  | open: it adopts the map (M5) |
 * | leaving         | prepares nothing more, and waits until all it has is stable | left                   |
 * | left            | asks for a map without itself                         | no member                    |
 * | no member       | follows the others; asks for a map with itself        | open, evicted                |
 * | evicted         | stops: no later map has the node (M14)                |                              |
 *
 * Invariant: PM1 no stable time of this node lies above the horizon of a map that it has not adopted.
 */
import {
  type ClusterMap,
  invariant,
  type NodeId,
  nextMap,
  packWall,
  type Timestamp,
  type Topology,
  type WallMs,
} from '@isochron/core';
import { type Address, dispatch, type Effects, type Handlers, type Input, type Machine } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { TransactionMessage } from '../transactions/messages.js';
import { refuseEvicted } from './maps.js';
import type {
  Accepted,
  AcceptReq,
  ChangeReq,
  DecidedMaps,
  LeaveReq,
  Leaving,
  MapMessage,
  MemberReq,
  NewestMap,
  ReturnReq,
  Sealed,
  SealReq,
  Silent,
  Staying,
  StillSealed,
} from './messages.js';
import { Orders } from './orders.js';
import { acceptedIn, changeOf, isQuorum, type MembersChange, type Proposal } from './proposal.js';
import { Suspicions } from './suspicions.js';

type Out = Effects<TransactionMessage>;
/** The messages that it takes. */
type Taken = Exclude<MapMessage, { readonly type: 'LeaveResp' | 'OrderResp' }>;

/** Name of the machine. */
export const MAPS_MACHINE = 'maps';

/** How often a node looks at its seal and its proposal. */
const LOOK_MS = 100;
/**
 * A seal that is open for this long is reported to the voters; each voter waits as long again before it decides. Every
 * wait for the same seal takes twice as long as the wait before: over slow links a decision needs longer.
 */
const OPEN_MS = 500;
/** How often the wait doubles. */
const MOST_TRIES = 5;
/** Between the notice of a node that leaves and its first refusal of a prepare: by then attempts avoid it. */
const NOTICE_MS = 500;
/** A node asks for a map with or without itself again after this time. */
const ASK_MS = 300;
/** Another voter is asked after this time. */
const PATIENCE_MS = 2_000;
/** A node that is no member comes back once it is at most this far behind. */
const LAG_MS = 1_000;

/** The parts of a node that follow its maps. */
export interface MapFollower {
  /** Whether everything that the node has prepared and committed is decided, applied and stable. */
  isIdle(): boolean;
  /** Whether everything is known that a map may defer. */
  mayCut(): boolean;
  /** Another map is in force. */
  adopted(out: Effects<TransactionMessage>): void;
}

export class MapMachine implements Machine<TransactionMessage> {
  readonly counters = { seals: 0, proposals: 0, adopted: 0 };
  #proposal: Proposal | undefined;
  /** When the open seal was made, or last acted on; undefined without an open seal. */
  #openSince: WallMs | undefined;
  /** How often this node has acted on the open seal. */
  #tries = 0;
  #looks = false;
  /** The driver that waits until the node has left. */
  #leave: { readonly to: Address; readonly ref: number; readonly since: WallMs } | undefined;
  /** When the node began to ask for a map with or without itself, and when it last asked. */
  #asking: { readonly since: WallMs; at: WallMs } | undefined;
  /** The node has left, and does not come back by itself. */
  #isHeld = false;
  readonly #suspicions: Suspicions;
  readonly #graceMs: number;
  /** The nodes that this process has been linked to, and the nodes from which it receives nothing. */
  readonly #met = new Set<NodeId>();
  #silent: readonly NodeId[] = [];
  readonly #orders: Orders;
  readonly #handlers: Handlers<Taken, [now: WallMs, from: Address, out: Out]> = {
    NewestMap: (message, _now, from, out) => this.#onNewestMap(message, from, out),
    Silent: (message, _now, from, out) => this.#onSilent(message, from, out),
    LeaveReq: (message, now, from, out) => this.#onLeaveReq(message, now, from, out),
    ReturnReq: (message, _now, from, out) => this.#onReturnReq(message, from, out),
    Leaving: (message, _now, from, out) => this.#onLeaving(message, from, out),
    MemberReq: (message, now, from, out) => this.#onMemberReq(message, now, from, out),
    OrderReq: (message, now, from, out) => this.#orders.receive(message, now, from, out),
    ChangeReq: (message, now, from, out) => this.#onChangeReq(message, now, from, out),
    EvictionReq: ({ nodes }, now, from, out) => {
      this.state.maps.forgo(nodes);
      out.send(from, { type: 'EvictionResp', isWhole: this.#isWhole(now) });
    },
    EvictionResp: (message, _now, from) => this.#orders.reports(message, from),
    ProposeMap: (_message, now, from, out) => {
      if (from.node === this.state.node) this.#propose(now, out);
    },
    SealReq: (message, now, from, out) => this.#onSealReq(message, now, from, out),
    Sealed: (message, _now, from, out) => this.#onSealed(message, from, out),
    StillSealed: (message, now, from, out) => this.#onStillSealed(message, now, from, out),
    AcceptReq: (message, now, from, out) => this.#onAcceptReq(message, now, from, out),
    Accepted: (message, _now, from, out) => this.#onAccepted(message, from, out),
    DecidedMaps: (message, _now, from, out) => this.#onDecidedMaps(message, from, out),
  };

  constructor(
    readonly state: NodeState,
    /** The durable minimum over the node's replicas, as a map counts; null without any. */
    readonly minimum: (topology: Topology) => Timestamp | null,
    readonly follower: MapFollower,
  ) {
    this.#suspicions = new Suspicions(state.node);
    this.#graceMs = state.settings.suspendAfterMs;
    this.#orders = new Orders(state, () => this.#silent, mapsOf);
  }

  step(input: Input<TransactionMessage>, out: Out): void {
    switch (input.kind) {
      case 'message':
        // Only nodes of the cluster decide (D12).
        if (this.state.topology.hasNode(input.from.node))
          dispatch(this.#handlers, input.message, input.now, input.from, out);
        break;
      case 'persisted':
        this.state.maps.persisted(input.upTo);
        refuseEvicted(this.state.node, this.state.maps);
        break;
      case 'timer':
        this.#looks = false;
        this.#onTimer(input.now, out);
        break;
      case 'link':
        this.state.maps.leaving.delete(input.node);
        if (!input.up) break;
        this.#met.add(input.node);
        out.send(mapsOf(input.node), { type: 'NewestMap', version: this.state.maps.newest.version });
        this.#reportSilent([mapsOf(input.node)], out);
        break;
    }
    this.#adopt(out);
    this.#orders.goOn(input.now, out);
    if (this.#leave !== undefined) this.#goOnLeaving(this.#leave, input.now, out);
    else this.#comeBack(input.now, out);
    this.#setTimer(input.now, out);
  }

  invariants(): void {
    const { next } = this.state.maps;
    if (next !== undefined) this.#stableUpTo(next.map);
  }

  describe(): object {
    const { maps } = this.state;
    return {
      version: maps.current.version,
      newest: maps.newest.version,
      isSealed: maps.isSealed,
      counters: this.counters,
    };
  }

  #onNewestMap({ version }: NewestMap, from: Address, out: Out): void {
    this.#sendMaps(from.node, version, out);
  }

  /** M2. A member seals for voters of its map alone, and only with data that are whole and its own (D10). */
  #onSealReq({ version, ballot }: SealReq, now: WallMs, from: Address, out: Out): void {
    const { maps, stable } = this.state;
    if (this.#lacks(version - 1, from, out) || !this.#isWhole(now)) return;
    const { ballot: before, accepted } = maps.promised;
    if (ballot <= before || !maps.current.voters.includes(from.node)) return;
    maps.promise(ballot, accepted, out);
    this.counters.seals++;
    this.#openSince = now;
    const votes = !maps.abstains(version);
    const times = { minimum: this.minimum(this.state.topology), stable: stable.value };
    out.sendAfterPersist(from, { type: 'Sealed', version, ballot, ...times, votes, accepted });
  }

  /** M3: all members have sealed, and a majority of the voters. */
  #onSealed(message: Sealed, from: Address, out: Out): void {
    const proposal = this.#proposal;
    const { version, ballot } = message;
    if (proposal?.version !== version || proposal.ballot !== ballot || proposal.map !== undefined) return;
    proposal.sealed.set(from.node, message);
    if (!proposal.members.every((node) => proposal.sealed.has(node))) return;
    const promises = [...proposal.sealed].filter(([, { votes }]) => votes);
    const promising = promises.map(([node]) => node);
    if (!isQuorum(promising, proposal, this.state.topology)) return;
    proposal.map = acceptedIn(promises.map(([, sealed]) => sealed)) ?? this.#proposed(proposal);
    for (const to of this.#voters) out.send(to, { type: 'AcceptReq', ballot: proposal.ballot, map: proposal.map });
  }

  /**
   * The horizon is the lowest minimum of the members that stay. On a disk that was rolled back, unnoticed, a minimum
   * may lie below a stable time: no horizon does.
   */
  #proposed(proposal: Proposal): ClusterMap {
    const { topology } = this.state;
    const { map } = topology;
    const staying = [...proposal.sealed].filter(([node]) => topology.isMember(node)).map(([, seal]) => seal);
    const minima = staying.flatMap(({ minimum }) => minimum ?? []);
    const lowest = minima.length === 0 ? 0 : Math.min(...minima);
    const horizon = Math.max(map.horizon, lowest, ...staying.map(({ stable }) => stable));
    return nextMap(map, changeOf(proposal, topology), horizon);
  }

  #isWhole(now: WallMs): boolean {
    const { membership, verification } = this.state;
    return membership.joined && membership.settled && !verification.waits(now);
  }

  #onAcceptReq({ ballot, map }: AcceptReq, now: WallMs, from: Address, out: Out): void {
    const { maps, node } = this.state;
    const { version } = map;
    if (this.#lacks(version - 1, from, out) || !maps.current.voters.includes(node) || maps.abstains(version)) return;
    if (ballot < maps.promised.ballot || !maps.mayLearn(map)) return;
    maps.promise(ballot, { ballot, map }, out);
    this.#openSince ??= now;
    out.sendAfterPersist(from, { type: 'Accepted', version, ballot });
  }

  #onAccepted({ version, ballot }: Accepted, from: Address, out: Out): void {
    const proposal = this.#proposal;
    if (proposal?.map === undefined || proposal.version !== version || proposal.ballot !== ballot) return;
    proposal.acceptedBy.add(from.node);
    if (!isQuorum([...proposal.acceptedBy], proposal, this.state.topology)) return;
    this.#learn(proposal.map, out);
    for (const node of this.state.topology.nodes) if (node !== this.state.node) this.#sendMaps(node, version - 1, out);
  }

  #onDecidedMaps({ maps }: DecidedMaps, from: Address, out: Out): void {
    for (const map of maps) this.#learn(map, out);
    const { version } = this.state.maps.newest;
    // A message before this one was lost.
    if ((maps.at(-1)?.version ?? 0) > version) out.send(from, { type: 'NewestMap', version });
  }

  #learn(map: ClusterMap, out: Out): void {
    if (!this.state.maps.learn(map, out)) return;
    if (this.#proposal !== undefined && this.#proposal.version <= map.version) this.#proposal = undefined;
    if (this.state.maps.undecided !== undefined) return;
    this.#openSince = undefined;
    this.#tries = 0;
  }

  #stableUpTo({ horizon }: ClusterMap): void {
    const { stable } = this.state;
    invariant(stable.value <= horizon, () => `PM1: stable time ${stable.value} above the horizon ${horizon}`);
  }

  /** M5: once everything up to the horizon is on the disk here, and the map before is adopted there. */
  #adopt(out: Out): void {
    const { maps } = this.state;
    const { next } = maps;
    if (next === undefined || maps.isAdopting) return;
    this.#stableUpTo(next.map);
    // Also of the sources that the map suspends: a node that was away may lack a part of their streams.
    const { horizon, suspends } = next.map;
    if ([maps.current, next].some((counts) => (this.minimum(counts) ?? horizon) < horizon)) return;
    if (suspends.length > 0 && !this.follower.mayCut()) return;
    const isHeldBy = ({ held }: Topology) => held.includes(this.state.node);
    // An operator lets the node return, also if it had left in order before.
    if (isHeldBy(maps.current) && !isHeldBy(next)) this.#isHeld = false;
    maps.adopt(this.state.stable.aggregated, out);
    this.counters.adopted++;
    this.follower.adopted(out);
    this.#reportSilent(this.#voters, out);
  }

  /** A node that was never linked is not missed: the cluster may be starting. */
  #onSilent({ nodes: silent }: Silent, from: Address, out: Out): void {
    const isOwn = from.node === this.state.node;
    if (isOwn) this.#silent = silent;
    if (this.#graceMs === 0) return;
    this.#suspicions.report(from.node, isOwn ? silent.filter((node) => this.#met.has(node)) : silent);
    if (isOwn) this.#reportSilent(this.#voters, out);
  }

  /** A node that votes from a new map on has older reports, or none. */
  #reportSilent(to: readonly Address[], out: Out): void {
    const report = { type: 'Silent', nodes: this.#suspicions.own } as const;
    if (this.#graceMs > 0) for (const peer of to) if (peer.node !== this.state.node) out.send(peer, report);
  }

  /** A voter decides the map without the members that do not answer. */
  #suspend(now: WallMs, out: Out): void {
    if (this.#graceMs === 0) return;
    const members = this.#suspicions.staying(this.state.topology, now, this.#graceMs);
    if (members !== undefined && this.#mayPropose(members)) this.#propose(now, out, { members });
  }

  /** Whether no proposal is under way, or a proposal that waits for a node that is not among these members. */
  #mayPropose(members: readonly NodeId[]): boolean {
    const proposal = this.#proposal;
    if (proposal === undefined) return true;
    return proposal.map === undefined && !proposal.members.every((node) => members.includes(node));
  }

  /** A voter decides the map that an operator orders, unless another map is under way. */
  #onChangeReq(message: ChangeReq, now: WallMs, from: Address, out: Out): void {
    if (this.#lacks(message.version, from, out)) return;
    const change = this.#orders.changeFor(message);
    if (change !== undefined && this.#mayPropose(change.members)) this.#propose(now, out, change);
  }

  /** A seal stays open: a member reports that to the voters, a voter decides in its turn. */
  #onTimer(now: WallMs, out: Out): void {
    const { maps, node } = this.state;
    const { undecided } = maps;
    this.#suspend(now, out);
    if (undecided === undefined) return;
    this.#openSince ??= now;
    const turn = maps.current.voters.indexOf(node);
    const openMs = Math.abs(now - this.#openSince);
    if (openMs < OPEN_MS * (turn + 2) * 2 ** Math.min(this.#tries, MOST_TRIES)) return;
    this.#tries++;
    this.#openSince = now;
    if (turn >= 0) this.#propose(now, out);
    else for (const to of this.#voters) out.send(to, { type: 'StillSealed', version: undecided });
  }

  #onStillSealed({ version }: StillSealed, now: WallMs, from: Address, out: Out): void {
    const { maps, node } = this.state;
    if (this.#lacks(version - 1, from, out) || !maps.current.voters.includes(node)) return;
    // The voter may not have received the seal's request itself.
    if (maps.undecided === undefined) this.#propose(now, out);
  }

  #onLeaveReq({ ref }: LeaveReq, now: WallMs, from: Address, out: Out): void {
    const { topology, node, maps } = this.state;
    if (from.node !== node) return;
    this.#endLeave(out, 'returns');
    this.#leave = { to: from, ref, since: now };
    this.#isHeld = true;
    // A cluster that is shut down as a whole decides nothing.
    if (maps.leaving.size > 0) this.#endLeave(out, 'another-leaves');
    else if (!topology.mayLeave(node)) this.#endLeave(out, 'only-replica');
    else this.#notify({ type: 'Leaving' }, out);
  }

  #onLeaving({ stays }: Leaving, from: Address, out: Out): void {
    const { maps, node } = this.state;
    if (stays) maps.leaving.delete(from.node);
    if (stays || from.node === node) return;
    maps.leaving.add(from.node);
    this.#endLeave(out, 'another-leaves');
  }

  #notify(message: Leaving, out: Out): void {
    const { topology, node } = this.state;
    for (const other of topology.nodes) if (other !== node) out.send(mapsOf(other), message);
  }

  #onReturnReq({ ref }: ReturnReq, from: Address, out: Out): void {
    if (from.node !== this.state.node) return;
    this.#endLeave(out, 'returns');
    this.#isHeld = false;
    out.send(from, { type: 'LeaveResp', ref, why: 'returns' });
  }

  /** A node that has not left stays a member for this reason. */
  #endLeave(out: Out, staying: Staying): void {
    if (this.#leave === undefined) return;
    const { to, ref } = this.#leave;
    const { topology, node, maps } = this.state;
    const why = topology.isMember(node) ? staying : undefined;
    this.#leave = undefined;
    this.#isHeld = why === undefined;
    maps.isLeaving = false;
    if (why !== undefined) this.#notify({ type: 'Leaving', stays: true }, out);
    out.sendAfterPersist(to, { type: 'LeaveResp', ref, why });
  }

  /**
   * First attempts of commits begin to avoid this node; then it refuses prepares; and once nothing of it is undecided,
   * unapplied or above stable time, it promises to prepare nothing more in this map.
   */
  #goOnLeaving({ since }: { readonly since: WallMs }, now: WallMs, out: Out): void {
    const { maps, topology, node } = this.state;
    // Adopted: the node knows that it is no member when it starts again.
    if (!topology.isMember(node)) this.#endLeave(out, 'returns');
    else if (!maps.isLeaving) maps.isLeaving = Math.abs(now - since) >= NOTICE_MS;
    else if (!maps.hasLeft && this.follower.isIdle() && this.#isWhole(now)) maps.leave(out);
    if (maps.hasLeft && this.#leave !== undefined) this.#ask(true, now, out);
  }

  /** Whether the node is a member that has promised nothing. */
  get #isSettledMember(): boolean {
    const { maps, topology, node } = this.state;
    return topology.isMember(node) && !maps.hasLeft;
  }

  /** A node that is no member asks for a map with itself, once it is nearly as far as the others. */
  #comeBack(now: WallMs, out: Out): void {
    const { topology, drift } = this.state;
    const stays = this.#isSettledMember || this.#isHeld || !topology.mayReturn(this.state.node);
    if (stays) this.#asking = undefined;
    if (stays) return;
    const minimum = this.minimum(topology) ?? Number.POSITIVE_INFINITY;
    if (this.#isWhole(now) && minimum >= packWall(drift.wall(now) - LAG_MS)) this.#ask(false, now, out);
  }

  /** Asks the same voter for a while: two that decide at once disturb each other. */
  #ask(leaves: boolean, now: WallMs, out: Out): void {
    const { topology, node, maps } = this.state;
    this.#asking ??= { since: now, at: Number.NEGATIVE_INFINITY };
    if (Math.abs(now - this.#asking.at) < ASK_MS) return;
    this.#asking.at = now;
    const others = topology.voters.filter((voter) => voter !== node);
    const asked = others[Math.floor(Math.abs(now - this.#asking.since) / PATIENCE_MS) % others.length] ?? node;
    out.sendAfterPersist(mapsOf(asked), { type: 'MemberReq', version: maps.newest.version, leaves });
  }

  /** Another node leaves, or comes back: a voter decides the map. */
  #onMemberReq({ version, leaves }: MemberReq, now: WallMs, from: Address, out: Out): void {
    const { topology } = this.state;
    if (this.#lacks(version, from, out) || this.#proposal !== undefined) return;
    if (leaves ? !topology.mayLeave(from.node) : !topology.mayReturn(from.node)) return;
    const others = topology.members.filter((node) => node !== from.node);
    this.#propose(now, out, leaves ? { members: others, left: [from.node] } : { members: [...others, from.node] });
  }

  /** Ballots of different nodes differ, and a node's ballots rise: its promise is on the disk before it is sent. */
  #propose(now: WallMs, out: Out, change: MembersChange = { members: this.state.topology.members }): void {
    const { maps, topology, node } = this.state;
    const { length } = topology.nodes;
    const version = maps.newest.version + 1;
    if (maps.current.version + 1 !== version || !maps.current.voters.includes(node)) return;
    if (!this.#isWhole(now)) return;
    const ballot = (Math.floor(maps.promised.ballot / length) + 1) * length + topology.numberOf(node);
    this.#proposal = { version, ballot, ...change, sealed: new Map(), acceptedBy: new Set() };
    this.counters.proposals++;
    this.#onSealReq({ type: 'SealReq', version, ballot }, now, mapsOf(node), out);
    for (const member of change.members)
      if (member !== node) out.sendAfterPersist(mapsOf(member), { type: 'SealReq', version, ballot });
  }

  /**
   * Whether this node cannot judge a message about the version after `version`: it knows the decision, which it sends
   * back, or has not adopted the map before.
   */
  #lacks(version: number, from: Address, out: Out): boolean {
    const { maps } = this.state;
    if (version < maps.newest.version) this.#sendMaps(from.node, version, out);
    return version !== maps.newest.version || version !== maps.current.version;
  }

  #sendMaps(node: NodeId, after: number, out: Out): void {
    const maps = this.state.maps.after(after);
    if (maps.length > 0) out.sendAfterPersist(mapsOf(node), { type: 'DecidedMaps', maps });
  }

  get #voters(): readonly Address[] {
    return this.state.topology.voters.map(mapsOf);
  }

  #setTimer(now: WallMs, out: Out): void {
    const isSettled = this.#isSettledMember && this.#leave === undefined && !this.#orders.isOpen;
    const { undecided, next } = this.state.maps;
    const isQuiet = undecided === undefined && next === undefined && !this.#suspicions.isOpen;
    if (this.#looks || (isSettled && isQuiet)) return;
    this.#looks = true;
    out.setTimer('seal', now + LOOK_MS);
  }
}

const mapsOf = (node: NodeId): Address => ({ node, machine: MAPS_MACHINE });
