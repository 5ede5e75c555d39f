/**
 * The feeds of some nodes over one history, without the rest of their nodes: a test decides when stable time rises on
 * a node, in which order messages arrive, and how much of the logs is there.
 */
import {
  type Change,
  type ChangesPage,
  type ClusterSpec,
  type Content,
  HLC_EPOCH_MS,
  type NodeId,
  type PartitionId,
  type QualifiedKey,
  type Random,
  type Timestamp,
  Topology,
  type TxId,
} from '@isochron/core';
import { Feeds } from '@isochron/protocols/kernel/feeds/feeds';
import { FOLLOWING_LIMITS, type FollowingLimits } from '@isochron/protocols/kernel/feeds/following';
import type { ChangesReq, LiveEnd, LiveReq } from '@isochron/protocols/kernel/feeds/messages';
import type { TransactionMessage } from '@isochron/protocols/kernel/transactions/messages';
import type { Address, Effects, Envelope } from '@isochron/protocols/machine';

/** A committed transaction. */
export interface FeedTx {
  readonly txId: TxId;
  readonly ct: Timestamp;
  readonly writes: readonly { readonly key: QualifiedKey; readonly value: Content }[];
}

interface FeedNode {
  readonly feeds: Feeds;
  readonly stable: { value: Timestamp };
  readonly timers: Map<string, number>;
}

const ROUND_MS = 10;
const READ_TIMEOUT_MS = 1_000;

export class FeedsWorld {
  readonly topology: Topology;
  readonly nodes = new Map<NodeId, FeedNode>();
  /** All transactions, in the total order. */
  readonly history: FeedTx[] = [];
  /** Messages that have not arrived. */
  readonly #sent: Envelope<TransactionMessage>[] = [];
  /** Answers of requests of clients, by their references. */
  readonly answers = new Map<number, TransactionMessage>();
  /** The logs lack transactions up to here. */
  truncatedUpTo: Timestamp = 0;
  /** The store gives at most this many transactions at a time. */
  pageTransactions = Number.POSITIVE_INFINITY;
  /** Pages that nodes were asked for, by partition. */
  readonly asked: PartitionId[] = [];
  nowMs = HLC_EPOCH_MS;
  readonly #logs = new Map<PartitionId, Change[]>();

  constructor(spec: ClusterSpec, limits: Partial<FollowingLimits> = {}) {
    this.topology = Topology.of(spec);
    for (const node of this.topology.nodes) this.#boot(node, { ...FOLLOWING_LIMITS, ...limits });
    for (const node of this.topology.nodes)
      for (const other of this.topology.nodes) if (other !== node) this.link(node, other, true);
  }

  /** The greatest timestamp of a transaction, or that a test has passed. */
  clock: Timestamp = 1_000;

  /** Commits a transaction above every stable time; `same` gives it the timestamp of the one before. */
  commit(writes: FeedTx['writes'], same = false): FeedTx {
    const last = this.history.at(-1)?.ct ?? 0;
    const together = same && last > this.highestStable();
    if (!together) this.clock += 2;
    const txId = `tx.${String(this.history.length).padStart(6, '0')}`;
    const tx = { txId, ct: together ? last : this.clock, writes };
    this.history.push(tx);
    const parts = new Map<PartitionId, FeedTx['writes'][number][]>();
    for (const write of writes) {
      const partition = this.topology.partitionOf(write.key);
      parts.set(partition, [...(parts.get(partition) ?? []), write]);
    }
    for (const [partition, slice] of parts) this.#log(partition).push({ ct: tx.ct, tx: { txId, writes: slice } });
    return tx;
  }

  highestStable(): Timestamp {
    return Math.max(...[...this.nodes.values()].map(({ stable }) => stable.value));
  }

  /** Stable time of a node rises; by default past everything that is committed. */
  stabilise(node: NodeId, to = this.clock): void {
    const { stable } = this.nodes.get(node)!;
    stable.value = Math.max(stable.value, to);
  }

  /** A client of the node sends a request to its feeds. */
  post(node: NodeId, message: ChangesReq | LiveReq | LiveEnd): void {
    this.#step(node, { node, machine: 'client' }, message);
  }

  /** A message that was sent arrives: a random one, or the first. Returns whether there was one. */
  deliver(random?: Random): boolean {
    const [envelope] = this.#sent.splice(random?.below(this.#sent.length) ?? 0, 1);
    if (envelope === undefined) return false;
    this.#step(envelope.to.node, envelope.from, envelope.message);
    return true;
  }

  /** A message that was sent is lost. */
  lose(random: Random): void {
    this.#sent.splice(random.below(this.#sent.length), 1);
  }

  /** A node can reach another one, or not. */
  link(node: NodeId, other: NodeId, up: boolean): void {
    this.nodes.get(node)!.feeds.step({ kind: 'link', now: this.nowMs, node: other, up }, this.#effects(node));
  }

  /** Time passes, and the timers that are due fire. */
  pass(ms: number): void {
    this.nowMs += ms;
    for (const [node, { timers }] of this.nodes)
      for (const [timer, at] of [...timers]) {
        if (at > this.nowMs) continue;
        timers.delete(timer);
        this.nodes.get(node)!.feeds.step({ kind: 'timer', now: this.nowMs, timer }, this.#effects(node));
      }
  }

  /** Time passes, with all messages and rounds. */
  run(ms: number): void {
    for (const end = this.nowMs + ms; this.nowMs < end; ) {
      this.pass(ROUND_MS);
      for (let messages = 0; this.deliver(); messages++)
        if (messages > 100_000) throw new Error('the nodes send without an end');
    }
  }

  #boot(node: NodeId, limits: FollowingLimits): void {
    const stable = { value: this.clock };
    const state = {
      node,
      region: this.topology.regionOf(node),
      topology: this.topology,
      settings: { gossipIntervalMs: ROUND_MS, readTimeoutMs: READ_TIMEOUT_MS },
      stable,
      membership: { joined: true },
      reader: {
        find: () => undefined,
        changes: (partition: PartitionId, after: Timestamp, upTo: Timestamp) => this.#page(partition, after, upTo),
      },
      activity: { nextRound: (now: number) => now + ROUND_MS },
    };
    const replicas = this.topology
      .partitionsOn(node)
      .map((partition) => ({ partition, replication: { changesFrom: 0 } }));
    this.nodes.set(node, { feeds: new Feeds(state, replicas, limits), stable, timers: new Map() });
  }

  #log(partition: PartitionId): Change[] {
    const log = this.#logs.get(partition) ?? [];
    this.#logs.set(partition, log);
    return log;
  }

  #page(partition: PartitionId, after: Timestamp, upTo: Timestamp): ChangesPage {
    this.asked.push(partition);
    const all = this.#log(partition).filter(({ ct }) => ct > after && ct <= upTo);
    const cut = all[this.pageTransactions]?.ct;
    const changes = cut === undefined ? all : all.filter(({ ct }) => ct < cut);
    const whole = cut === undefined || changes.length === 0;
    const { truncatedUpTo } = this;
    return whole ? { changes: all, upTo, truncatedUpTo } : { changes, upTo: changes.at(-1)!.ct, truncatedUpTo };
  }

  #step(node: NodeId, from: Address, message: TransactionMessage): void {
    this.nodes.get(node)!.feeds.step({ kind: 'message', now: this.nowMs, from, message }, this.#effects(node));
  }

  #answered(ref: number, message: TransactionMessage): void {
    if (this.answers.has(ref)) throw new Error(`the request ${ref} is answered a second time`);
    this.answers.set(ref, message);
  }

  #effects(node: NodeId): Effects<TransactionMessage> {
    const from = { node, machine: 'feeds' };
    const send = (to: Address, message: TransactionMessage): void => {
      if (to.machine !== 'client') this.#sent.push({ to, from, message });
      else if ('ref' in message) this.#answered(message.ref, message);
    };
    return {
      send,
      sendAfterPersist: send,
      write: () => 0,
      lastWrite: () => 0,
      setTimer: (timer, at) => this.nodes.get(node)!.timers.set(timer, at),
    };
  }
}
