/** Applies the ranges of peers (Alg. 4 lines 23–33, with P3 and D6), and requests missing ones. */
import {
  type AppliedRecord,
  defers,
  type LogGroup,
  type LoggedTx,
  type PartitionId,
  type RegionId,
  type Timestamp,
  type WallMs,
} from '@isochron/core';
import type { Address, Effects, WriteSeq } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { Gate, PeerBacklog } from './gate.js';
import type { Heartbeat, Replicate, ReplicationMessage, ResyncRefused } from './messages.js';
import type { PeerProgress } from './peer-progress.js';
import type { ReplicaWriter } from './replica-writer.js';
import type { Retention } from './retention.js';
import { rolledBack } from './rollback-watch.js';

type Out = Effects<ReplicationMessage>;

/** A resync request without an answer is repeated after this time. */
const RESYNC_RETRY_MS = 1_000;

/** The parts of a replica that a receiver works with. */
export interface ReceiverParts {
  readonly partition: PartitionId;
  readonly state: NodeState;
  readonly peers: ReadonlyMap<RegionId, PeerProgress>;
  readonly writer: ReplicaWriter;
  readonly retention: () => Retention;
  /** New versions of a peer are applied. */
  readonly received: (now: WallMs) => void;
  /** What peers' groups have to wait for; undefined: for nothing. */
  readonly gate: Gate | undefined;
}

/**
 * The outcome of a transaction whose request may be repeated, on a replica that received it: its cohort may lose its
 * disk (D5, D10).
 */
export const receivedOutcome = ({ attempt }: LoggedTx): AppliedRecord['outcome'] =>
  attempt === undefined ? undefined : { attempt, digest: null };

export class Receiver {
  readonly counters = { replicated: 0, stale: 0, gaps: 0 };

  constructor(readonly parts: ReceiverParts) {}

  /** How many groups of peers wait to be admitted. */
  get held(): number {
    return [...this.parts.peers.values()].reduce((count, { held }) => count + (held?.groups.length ?? 0), 0);
  }

  /** Alg. 4 lines 23–30, with P3 and D6. */
  onReplicate(received: Replicate, now: WallMs, out: Out): void {
    const message = this.#ofKnownMaps(received);
    if (!this.#follows(message, now, out)) return;
    const { source, from, to, groups, more, map = 0 } = message;
    const have = this.#received(source);
    const { held } = this.#peer(source);
    let wrote = false;
    for (const group of groups) {
      const { ct } = group;
      // A fragment proves nothing yet: its source may lose the rest.
      const whole = ct <= to;
      if (ct <= have || (!whole && from !== to)) this.counters.stale++;
      else if (held !== undefined) held.add(group, whole ? ct : 0);
      else if (this.#take(source, this.#withoutDeferred(source, group, map), whole, out)) wrote = true;
    }
    this.#advance(source, to, wrote, out);
    this.#arrived(wrote, now, out);
    // The rest belongs to a map that this node has not adopted: the request is repeated until it has.
    if (to < received.to) this.#peer(source).askedAt = now;
    else if (more) this.askResync(source, now, out);
  }

  /** Alg. 4 lines 31–33. */
  onHeartbeat(message: Heartbeat, now: WallMs, out: Out): void {
    if (this.#follows(message, now, out)) this.#advance(message.source, message.to, false, out);
  }

  // A log is, or may be, truncated below the data that every peer's disk has had, verified. So a disk without these
  // data has lost them, and so has one with a cap below them (D10).
  onResyncRefused({ source, truncatedUpTo }: ResyncRefused, sender: Address): void {
    const peer = this.parts.peers.get(source);
    // Only the node that was asked may refuse: the consequence is drastic (D12).
    if (peer === undefined || sender.node !== peer.address.node || peer.askedAt === 0) return;
    if (Math.min(this.#applied(source), this.#received(source)) >= truncatedUpTo) return;
    throw rolledBack(
      `The disk lacks versions of partition ${this.parts.partition} that it once confirmed to ${source}`,
    );
  }

  /** Applies groups that the gate admits. A group of one source may wait for a group of another one. */
  admit(now: WallMs, out: Out): void {
    const { gate, peers, writer } = this.parts;
    if (gate === undefined) return;
    let [admitted, wrote, more] = [false, false, true];
    while (more) {
      more = false;
      for (const [source, { held }] of peers) {
        while (held!.groups.length > 0 && gate.admits(source, held!.groups, now, out)) {
          more = true;
          admitted = true;
          if (this.#admitOne(source, held!, gate, out)) wrote = true;
        }
      }
    }
    if (!admitted) return;
    if (wrote) writer.vector(out);
    this.#arrived(wrote, now, out);
    for (const source of peers.keys()) this.#lift(source, out);
    for (const [source, { held }] of peers) if (held!.canResume) this.askResync(source, now, out);
  }

  /** A node has lost its disk (D10): groups that it sourced and that no replica has applied are lost. */
  onDataLoss(node: string): void {
    const { peers, gate } = this.parts;
    for (const [region, peer] of peers) {
      if (peer.address.node !== node || peer.held === undefined) continue;
      gate!.drop(peer.held.groups);
      peer.held.clear();
      peer.clock = Math.min(peer.clock, this.#applied(region));
    }
  }

  /** Repeats unanswered requests. */
  retry(now: WallMs, out: Out): void {
    for (const [region, { askedAt }] of this.parts.peers) {
      if (askedAt !== 0 && now - askedAt > RESYNC_RETRY_MS) this.askResync(region, now, out);
    }
  }

  /** Requests a peer's stream from where it was received to here (D6). */
  askResync(source: RegionId, now: WallMs, out: Out): void {
    const { partition, state, writer } = this.parts;
    const peer = this.#peer(source);
    peer.askedAt = now;
    peer.held?.asked();
    out.sendAfterPersist(peer.address, {
      type: 'ResyncReq',
      partition,
      region: state.region,
      from: this.#received(source),
      clock: peer.clock,
      group: Math.max(peer.group, peer.held?.group ?? 0),
      incarnation: state.membership.incarnation,
      peerIncarnation: peer.incarnation,
      sourced: writer.vv.durable(state.region),
    });
  }

  /**
   * A peer reports its incarnation. A new one means that it has lost its disk (D10), perhaps after it had continued
   * with an old one.
   */
  meet(region: RegionId, incarnation: Timestamp, now: WallMs, out: Out): boolean {
    const peer = this.#peer(region);
    if (peer.incarnation === incarnation) return false;
    peer.incarnation = incarnation;
    this.onDataLoss(peer.address.node);
    peer.restartFrom(this.#applied(region));
    this.#keep('incarnations', ({ incarnation: known }) => known, out);
    this.askResync(region, now, out);
    return true;
  }

  /** A peer's own version clock. If groups wait at the gate below it, it is raised after them. */
  #advance(source: RegionId, to: Timestamp, wrote: boolean, out: Out): void {
    const peer = this.#peer(source);
    peer.clockCame(to);
    if (peer.held?.advance(to) ?? true) this.parts.writer.raise(source, to, wrote, out);
    this.#lift(source, out);
  }

  #lift(source: RegionId, out: Out): void {
    const peer = this.#peer(source);
    const { next } = this.parts.state.maps;
    if (peer.mayLift(this.#applied(source))) peer.lift(() => this.#keepCaps(out));
    else if (next !== undefined && peer.mayRaise(next.map.horizon))
      peer.raise(next.map.horizon, () => this.#keepCaps(out));
  }

  /**
   * The part of a range that the next map cannot defer: a source that has adopted that map may have transactions of the
   * map above the horizon, which a cut here would take for transactions of an earlier map.
   */
  #ofKnownMaps(message: Replicate): Replicate {
    const { maps } = this.parts.state;
    const { current, next, newest } = maps;
    const { map = 0, from, to } = message;
    if (map <= current.version) return message;
    if (map <= newest.version && !maps.suspendsBetween(current.version, map)) return message;
    const upTo = Math.max(from, Math.min(to, next?.map.horizon ?? from));
    return { ...message, to: upTo, groups: message.groups.filter(({ ct }) => ct <= upTo) };
  }

  /** A group that was sent under an earlier map than that of this node, without what the maps since defer (M4). */
  #withoutDeferred(source: RegionId, group: LogGroup, map: number): LogGroup {
    const { maps, topology } = this.parts.state;
    if (map >= topology.version) return group;
    const number = topology.numberOf(this.#peer(source).address.node);
    const since = maps.adoptedAfter(map);
    const isDeferred = ({ needs }: LoggedTx) =>
      since.some((one) => defers(one, { ct: group.ct, source: number, needs }));
    return { ct: group.ct, txs: group.txs.filter((tx) => !isDeferred(tx)) };
  }

  /**
   * The stream of a suspended node is received again from the horizon (M5). That this replica has had groups above it
   * no longer shows that the node's disk was rolled back: a map has taken them back (D10h).
   */
  receiveAgain(source: RegionId, horizon: Timestamp, out: Out): void {
    const peer = this.#peer(source);
    if (peer.group > horizon) peer.group = 0;
    this.#keep('highestGroups', ({ group }) => group, out);
  }

  /** Writes a peer's versions. Returns whether there were any. */
  #take(source: RegionId, { ct, txs }: LogGroup, whole: boolean, out: Out): boolean {
    const { state, writer, retention } = this.parts;
    const peer = this.#peer(source);
    retention().stored(ct);
    if (whole && txs.length > 0) peer.group = Math.max(peer.group, ct);
    const kept = txs.filter(({ txId }) => !state.losses.isTakenBack(txId, ct));
    const log = state.stableSnapshots ? 'received' : 'none';
    for (const tx of kept) writer.apply({ ct, tx, region: source, log, outcome: receivedOutcome(tx) }, out);
    this.counters.replicated += txs.length;
    return kept.some(({ writes }) => writes.length > 0);
  }

  /** The vector goes to disk once all groups that this step admits are written. */
  #admitOne(source: RegionId, held: PeerBacklog, gate: Gate, out: Out): boolean {
    const { group, upTo } = held.take();
    gate.drop([group]);
    const wrote = this.#take(source, group, upTo >= group.ct, out);
    this.parts.writer.vv.raise(source, upTo, wrote ? out.lastWrite() : 0);
    return wrote;
  }

  #arrived(wrote: boolean, now: WallMs, out: Out): void {
    if (!wrote) return;
    this.#keep('highestGroups', ({ group }) => group, out); // a peer whose disk was rolled back needs it (D10)
    this.parts.received(now);
  }

  /** Accepts a range only if it begins at or below the received data; else requests the gap (D6). */
  #follows({ source, from, verified }: Replicate | Heartbeat, now: WallMs, out: Out): boolean {
    const peer = this.parts.peers.get(source);
    if (peer === undefined) return false;
    if (peer.held?.full) {
      peer.held.reject();
      peer.askedAt = 0;
      return false;
    }
    if (from <= this.#received(source)) {
      peer.askedAt = 0;
      if (peer.rangeCame(verified, this.#received(source))) this.#keepCaps(out);
      return true;
    }
    this.counters.gaps++;
    if (peer.askedAt === 0 && !peer.held?.rejected) this.askResync(source, now, out);
    return false;
  }

  #keepCaps(out: Out): WriteSeq {
    return this.#keep('limits', ({ persistedCap }) => persistedCap, out);
  }

  /** Writes the data about the peers that outlive a crash. */
  #keep(
    what: 'highestGroups' | 'incarnations' | 'limits',
    of: (peer: PeerProgress) => Timestamp | undefined,
    out: Out,
  ): WriteSeq {
    const { partition, peers } = this.parts;
    const entries = [...peers].flatMap(([region, peer]) => {
      const ts = of(peer);
      return ts === undefined ? [] : [[region, ts] as const];
    });
    return out.write({ kind: 'meta', name: `${what}/${partition}`, value: Object.fromEntries(entries) });
  }

  #peer(source: RegionId): PeerProgress {
    return this.parts.peers.get(source)!;
  }

  #applied(source: RegionId): Timestamp {
    return this.parts.writer.vv.applied(source);
  }

  /** Everything that a peer sourced up to here was received. */
  #received(source: RegionId): Timestamp {
    return this.#peer(source).receivedUpTo(this.#applied(source));
  }
}
