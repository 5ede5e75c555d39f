/**
 * The rounds of a node: one timer for all its replicas and for stabilisation, instead of some for each partition. A
 * node without writes takes rounds less and less often (`activity.ts`); `Wake` brings them back in the whole cluster.
 *
 * The replicas act in this machine's steps. Heartbeats of a round travel as one message to each peer node
 * (`heartbeats.ts`); the receiving machine passes them to its replicas.
 */
import type { DurableRecord, NodeId, PartitionId, WallMs } from '@isochron/core';
import type { Address, Effects, Input, Machine, TimerKind, WriteSeq } from '../machine.js';
import { ROUNDS_MACHINE } from './activity.js';
import { HeartbeatCollector, heartbeatsIn } from './heartbeats.js';
import { type NodeState, replicaName } from './node-state.js';
import type { Heartbeats, ReplicationMessage } from './replication/messages.js';
import { STABILIZATION_MACHINE } from './replication/stabilization.js';

type Out = Effects<ReplicationMessage>;

/** How often replicas repeat unanswered requests, and look for overdue decisions. */
const RETRY_INTERVAL_MS = 250;
/** How often replicas collect garbage. */
const COLLECT_INTERVAL_MS = 1_000;

/** A machine that acts in a node's rounds: it takes the timers `round`, `retry` and `collect`. */
export interface RoundMachine {
  step(input: Input<ReplicationMessage>, out: Out): void;
  invariants(): void;
}

export interface RoundReplica extends RoundMachine {
  readonly partition: PartitionId;
}

interface ActingReplica {
  readonly replica: RoundReplica;
  readonly effects: ActingEffects;
}

export class Rounds implements Machine<ReplicationMessage> {
  readonly counters = { rounds: 0, wakes: 0 };
  readonly #replicas: ReadonlyMap<PartitionId, ActingReplica>;
  readonly #stabilizing: ActingEffects;
  readonly #heartbeats: HeartbeatCollector;
  readonly #peers: ReadonlyMap<NodeId, Address>;
  /** At the start, all other nodes: a link event removes them. */
  readonly #down: Set<NodeId>;
  #applyAt: WallMs = 0;
  #gossipAt: WallMs = 0;
  #retryAt: WallMs = 0;
  #collectAt: WallMs = 0;

  constructor(
    readonly state: NodeState,
    readonly replicas: readonly RoundReplica[],
    readonly stabilization: RoundMachine,
  ) {
    const others = state.topology.nodes.filter((node) => node !== state.node);
    this.#peers = new Map(others.map((node) => [node, { node, machine: ROUNDS_MACHINE }]));
    this.#down = new Set(others);
    const { node } = state;
    const acting = (machine: string) => new ActingEffects({ node, machine }, this.#heartbeats);
    this.#heartbeats = new HeartbeatCollector(state.region);
    this.#replicas = new Map(
      replicas.map((replica) => [replica.partition, { replica, effects: acting(replicaName(replica.partition)) }]),
    );
    this.#stabilizing = acting(STABILIZATION_MACHINE);
  }

  step(input: Input<ReplicationMessage>, out: Out): void {
    switch (input.kind) {
      case 'message':
        if (input.message.type === 'Heartbeats') this.#onHeartbeats(input.message, input.now, input.from, out);
        else if (input.message.type === 'Wake') this.#onWake(input.now, input.from, out);
        return;
      case 'timer':
        this.#onTimer(input.timer, input.now, out);
        return;
      case 'link':
        if (input.up) this.#down.delete(input.node);
        else this.#down.add(input.node);
        return;
      case 'persisted':
        return;
    }
  }

  invariants(): void {
    for (const replica of this.replicas) replica.invariants();
    this.stabilization.invariants();
  }

  describe(): object {
    return { counters: this.counters };
  }

  #onTimer(timer: TimerKind, now: WallMs, out: Out): void {
    if (timer === 'start') {
      this.#retryAt = now + RETRY_INTERVAL_MS;
      this.#collectAt = now + COLLECT_INTERVAL_MS;
      this.#plan(now, out);
    } else this.#act(now, out);
  }

  /** Runs the due rounds. Replicas act before stabilisation, whose messages then share their frames (P12). */
  #act(now: WallMs, out: Out): void {
    const [applyAt, gossipAt] = [this.#applyAt, this.#gossipAt];
    if (now >= applyAt) {
      this.counters.rounds++;
      this.#each('round', now, out);
    }
    if (now >= this.#retryAt) {
      this.#each('retry', now, out);
      this.#retryAt = now + RETRY_INTERVAL_MS;
    }
    if (now >= this.#collectAt) {
      this.#each('collect', now, out);
      this.#collectAt = now + COLLECT_INTERVAL_MS;
    }
    if (now >= gossipAt) this.stabilization.step({ kind: 'timer', now, timer: 'gossip' }, this.#stabilizing.of(out));
    this.#plan(now, out, now >= applyAt ? undefined : applyAt, now >= gossipAt ? undefined : gossipAt);
  }

  #each(timer: TimerKind, now: WallMs, out: Out): void {
    for (const { replica, effects } of this.#replicas.values())
      replica.step({ kind: 'timer', now, timer }, effects.of(out));
    this.#heartbeats.flush(out);
  }

  /** @param applyBy rounds that are due by then are not put off */
  #plan(now: WallMs, out: Out, applyBy = Number.POSITIVE_INFINITY, gossipBy = Number.POSITIVE_INFINITY): void {
    const { activity, settings } = this.state;
    this.#applyAt = Math.min(applyBy, activity.nextRound(now, settings.applyIntervalMs));
    this.#gossipAt = Math.min(gossipBy, activity.nextRound(now, settings.gossipIntervalMs));
    out.setTimer('round', Math.min(this.#applyAt, this.#gossipAt, this.#retryAt));
  }

  /** From this node: a client has written here. From another one: a client has written there. */
  #onWake(now: WallMs, from: Address, out: Out): void {
    const isOwn = from.node === this.state.node;
    if (!isOwn && !this.#peers.has(from.node)) return;
    this.counters.wakes++;
    const [applyAt, gossipAt] = [this.#applyAt, this.#gossipAt];
    this.state.activity.touch(now);
    this.#plan(now, out, applyAt, gossipAt);
    if (!isOwn) return;
    for (const [node, address] of this.#peers) if (!this.#down.has(node)) out.send(address, { type: 'Wake' });
  }

  /** Partitions that are not here are ignored (D12). */
  #onHeartbeats(message: Heartbeats, now: WallMs, from: Address, out: Out): void {
    for (const heartbeat of heartbeatsIn(message)) {
      const acting = this.#replicas.get(heartbeat.partition);
      acting?.replica.step({ kind: 'message', now, from, message: heartbeat }, acting.effects.of(out));
    }
    this.#heartbeats.flush(out);
  }
}

/** The effects of a machine in a step of the rounds: under its own name, except for heartbeats, which are collected. */
class ActingEffects implements Effects<ReplicationMessage> {
  #out!: Out;

  constructor(
    readonly by: Address,
    readonly heartbeats: HeartbeatCollector,
  ) {}

  of(out: Out): Out {
    this.#out = out;
    return this;
  }

  send(to: Address, message: ReplicationMessage): void {
    if (message.type === 'Heartbeat') this.heartbeats.add(to.node, message);
    else this.#out.send(to, message, this.by);
  }

  sendAfterPersist(to: Address, message: ReplicationMessage): void {
    this.#out.sendAfterPersist(to, message, this.by);
  }

  write(record: DurableRecord): WriteSeq {
    return this.#out.write(record);
  }

  lastWrite(): WriteSeq {
    return this.#out.lastWrite();
  }

  setTimer(timer: TimerKind, at: WallMs): void {
    this.#out.setTimer(timer, at, this.by);
  }
}
