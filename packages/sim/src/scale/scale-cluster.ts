/** All nodes and links of a cluster, and the clients beside the nodes, in virtual time. */

import { openTransactions } from '@isochron/client';
import {
  type ClusterSpec,
  compareKeys,
  type DurableRecord,
  type NodeId,
  type PartitionId,
  type QualifiedKey,
  Random,
  type RegionId,
  type Timestamp,
  Topology,
} from '@isochron/core';
import {
  type Capability,
  createTransactionNode,
  DEFAULT_SETTINGS,
  type ProtocolSettings,
  Session,
  type TransactionEntry,
} from '@isochron/protocols';
import { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { WallClock } from '@isochron/simulated-world/wall-clock';
import { openMemoryStore, type VersionStore } from '@isochron/storage';
import type { SessionsWorld } from '../protocols/sessions.js';
import type { NodeMessage } from '../protocols/transactions/message.js';
import { openSessions } from '../protocols/transactions/sessions.js';
import { ClosedLoop, type LoopListener, type Transactions } from './closed-loop.js';
import type { CostModel } from './cost-model.js';
import { FOUNDED, type ScaleFrame, ScaleNode } from './scale-node.js';
import type { StepListener } from './step-tap.js';

export interface ScaleClusterOptions {
  readonly entry: TransactionEntry;
  readonly spec: ClusterSpec;
  readonly model: CostModel;
  /** Of each node. */
  readonly cores: number;
  /** One way, ms; also of a region to itself. */
  readonly delayMs: (from: RegionId, to: RegionId) => number;
  /** One way between a client and its node, ms. */
  readonly clientMs: number;
  /** How far the nodes' clocks are off, in the order of the cluster file, from the start again when it is short. */
  readonly skewsMs: readonly number[];
  readonly settings?: Partial<ProtocolSettings>;
  /** Keys of a partition that are there from the beginning. */
  readonly keysOf: (partition: PartitionId) => readonly QualifiedKey[];
  /** The transactions of a client of a region; the same seed gives the same ones. */
  readonly transactions: (region: RegionId, seed: number) => Transactions;
  readonly seed: number;
  readonly probe?: ScaleProbe;
}

/** Measures the costs of steps: observes them, and provides the stores. */
export interface ScaleProbe {
  readonly watcher: StepListener;
  openStore(node: NodeId): VersionStore;
  /** A frame leaves. */
  sent(frame: ScaleFrame): void;
}

/** How long a cluster runs without clients at its beginning, until stable times have gone round. */
const START_MS = 600;
/** New clients begin within this time. */
const SPREAD_MS = 50;
const INITIAL_VALUE = '"initial"';
/** The capabilities that clients of the protocols use here. */
const CAPABILITIES: ReadonlySet<Capability> = new Set(['transactions', 'snapshots'] as const);

export class ScaleCluster {
  readonly time = new VirtualTime();
  readonly topology: Topology;
  readonly nodes: readonly ScaleNode[];
  readonly #byId = new Map<NodeId, ScaleNode>();
  /** Delay by sender and receiver. */
  readonly #delays = new Map<NodeId, ReadonlyMap<NodeId, number>>();
  readonly #random: Random;
  readonly #clients: ClosedLoop[] = [];
  readonly #drawn = () => this.#random.float();

  constructor(
    readonly options: ScaleClusterOptions,
    readonly listener: LoopListener,
  ) {
    this.topology = Topology.of(options.spec);
    this.#random = new Random(options.seed);
    this.nodes = this.topology.nodes.map((id, i) => this.#node(id, options.skewsMs[i % options.skewsMs.length] ?? 0));
    for (const node of this.nodes) this.#byId.set(node.id, node);
    for (const { id, region } of this.nodes) {
      const row = this.nodes.map((to) => [to.id, options.delayMs(region, to.region)] as const);
      this.#delays.set(id, new Map(row));
    }
    for (const a of this.nodes) for (const b of this.nodes) if (a !== b) a.link(b.id);
    this.run(START_MS);
  }

  /** How many transactions are under way. */
  get underWay(): number {
    return this.#clients.reduce((sum, { underWay }) => sum + (underWay ? 1 : 0), 0);
  }

  /** Lets time pass. */
  run(ms: number): void {
    this.time.runUntil(this.time.now + ms, () => false);
  }

  /** Adds clients to each node, until each has that many. They begin one after the other. */
  raise(clientsPerNode: number): void {
    const { transactions, entry, clientMs, seed } = this.options;
    while (this.#clients.length < clientsPerNode * this.nodes.length) {
      const number = this.#clients.length;
      const node = this.nodes[number % this.nodes.length]!;
      const own = transactions(node.region, seed * SEEDS_PER_RUN + number);
      const id = `scale-session-${String(number).padStart(8, '0')}`;
      const engine = openTransactions((session, state) => new Session(session, entry.session, state));
      const loop = new ClosedLoop(id, engine, node, own, this.listener, this.time, clientMs, this.#drawn);
      this.#clients.push(loop);
      this.time.after(this.#random.float() * SPREAD_MS, () => loop.start());
    }
  }

  #node(id: NodeId, skewMs: number): ScaleNode {
    const { options, topology } = this;
    const store = options.probe?.openStore(id) ?? openMemoryStore();
    const entries = options.entry.protocol.entries?.(topology) ?? 0;
    for (const partition of topology.partitionsOn(id)) {
      void store.commit(initialOf(partition, options.keysOf(partition), entries));
    }
    const clock = new WallClock(this.time, { skewMs, driftPpm: 0 });
    const settings = { ...DEFAULT_SETTINGS, ...options.settings };
    const common = { node: id, topology, settings, reader: store, recovered: FOUNDED };
    const world = {
      time: this.time,
      model: options.model,
      cores: options.cores,
      topology,
      settings,
      random: this.#drawn,
      watcher: options.probe?.watcher,
      transmit: (from: NodeId, to: NodeId, frame: ScaleFrame) => this.#transmit(from, to, frame),
    };
    const entry = { ...options.entry, capabilities: CAPABILITIES };
    const create = () => createTransactionNode({ ...common, now: clock.now() }, entry.protocol);
    const openFrames = (frames: SessionsWorld<NodeMessage>) => openSessions(frames, entry);
    return new ScaleNode(id, topology.regionOf(id), clock, store, world, create, openFrames);
  }

  #transmit(from: NodeId, to: NodeId, frame: ScaleFrame): void {
    const target = this.#byId.get(to)!;
    this.options.probe?.sent(frame);
    this.time.after(this.#delays.get(from)!.get(to)!, () => target.receive(frame));
  }
}

/** More clients than one run has, so that seeds of different runs differ. */
const SEEDS_PER_RUN = 1_000_000;

/** A version of each key, older than every snapshot. */
function initialOf(partition: PartitionId, keys: readonly QualifiedKey[], entries: number): DurableRecord[] {
  const deps = entries === 0 ? {} : { deps: new Array<Timestamp>(entries).fill(0) };
  const version = { value: INITIAL_VALUE, ts: 1, txId: 'initial-version-0000.0', region: '', ...deps };
  return keys.toSorted(compareKeys).map((key) => ({ kind: 'version', partition, key, version }));
}
