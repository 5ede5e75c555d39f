/** Opens a node: disk, machines, links (D7, D14). What serves users stands on the result, see `http/` and `ws/`. */
import { join } from 'node:path';
import {
  IsochronError,
  type LogGroup,
  MAX_TIMESTAMP,
  type NodeId,
  type PartitionId,
  type RecoveredState,
  type Timestamp,
  Topology,
} from '@isochron/core';
import {
  createParisNode,
  DEFAULT_PARIS_SETTINGS,
  Host,
  type ParisNode,
  stalenessOf,
  unappliedAfter,
} from '@isochron/protocols';
import { openLevelStore, type VersionStore, verifyPlacement } from '@isochron/storage';
import { parsePeerUrl, WebSocketTransport } from '@isochron/transport';
import { FrameCodec } from '@isochron/wire';
import type { Logger } from 'pino';
import { type ClusterConfig, clusterSpec, oneWayDelayMs } from '../config/cluster-file.js';
import { SESSIONS_MACHINE, SessionsMachine } from '../session/machine.js';
import type { NodeStatus, RunningNode } from './api.js';
import { CLIENT_MACHINE, ClientPort } from './client-port.js';
import { type NodeMessage, nodeSchema } from './messages.js';
import { StableWaiters } from './stable-waiters.js';
import { nodeStatus } from './status.js';

/** Epoch of the topology: moves when the placement is changed by an operation. */
const EPOCH = 0;

export interface NodeOptions {
  readonly config: ClusterConfig;
  readonly node: NodeId;
  /** Folder of this node's data. */
  readonly dataDir: string;
  /** The secret that all nodes of the cluster share. */
  readonly secret: string;
  readonly logger: Logger;
  /** Milliseconds added to the wall clock, to try out what a wrong clock does. */
  readonly clockSkewMs?: number;
  /** The node cannot go on: a write failed or an invariant broke. Nothing has left since. */
  readonly onFailure: (error: unknown) => void;
}

/** A node with the parts that the API layer needs beside the coordinator. */
export interface OpenedNode extends RunningNode {
  readonly sessions: SessionsMachine;
  /** State of every machine, for diagnosis. */
  describe(): object;
}

/**
 * Recovers the node from its disk, listens for peers and begins to take part.
 * @throws IsochronError STORAGE_FAILED, PLACEMENT_MISMATCH; a system error EADDRINUSE when the peer port is taken
 */
export async function openNode(options: NodeOptions): Promise<OpenedNode> {
  const { config, node, dataDir } = options;
  const topology = new Topology(clusterSpec(config));
  const held = topology.partitionsOn(node).map((id) => ({ id, name: topology.partitions[id]!.name }));
  const { storeId } = await verifyPlacement(dataDir, { node, clusterId: config.cluster, partitions: held });
  const { durability, cacheBytes } = config.settings;
  const store = await openLevelStore({ location: join(dataDir, 'store'), durability, cacheBytes });
  try {
    const recovered = await store.recover();
    const running = new Node(
      options,
      topology,
      store,
      recovered,
      await loadUnapplied(store, recovered, topology, node),
    );
    await running.listen(storeId);
    return running;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The committed transactions of each partition that were not applied before the restart. */
async function loadUnapplied(
  store: VersionStore,
  recovered: RecoveredState,
  topology: Topology,
  node: NodeId,
): Promise<Map<PartitionId, LogGroup[]>> {
  const unapplied = new Map<PartitionId, LogGroup[]>();
  for (const partition of topology.partitionsOn(node)) {
    const groups: LogGroup[] = [];
    let after = unappliedAfter(recovered, partition, topology.regionOf(node));
    while (after < MAX_TIMESTAMP) {
      await store.prefetch({ kind: 'log', partition, after, upTo: MAX_TIMESTAMP });
      const page = store.log(partition, after, MAX_TIMESTAMP);
      groups.push(...page.groups);
      after = page.upTo;
    }
    unapplied.set(partition, groups);
  }
  return unapplied;
}

class Node implements OpenedNode {
  readonly id: NodeId;
  readonly region: string;
  readonly config: ClusterConfig;
  readonly coordinator: ClientPort;
  readonly sessions: SessionsMachine;
  readonly #startedAt = Date.now();
  readonly #host: Host<NodeMessage>;
  readonly #paris: ParisNode;
  readonly #waiters = new StableWaiters();
  #transport: WebSocketTransport<NodeMessage> | undefined;
  #wake: { at: number; timer: NodeJS.Timeout } | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    readonly options: NodeOptions,
    readonly topology: Topology,
    readonly store: VersionStore,
    recovered: RecoveredState,
    unapplied: ReadonlyMap<PartitionId, readonly LogGroup[]>,
  ) {
    this.id = options.node;
    this.config = options.config;
    this.region = topology.regionOf(this.id);
    this.#host = new Host<NodeMessage>(this.id, {
      now: () => this.now(),
      persist: (records, done) => {
        store.commit(records).then(() => done(), done);
      },
      resident: (needs) => store.resident(needs),
      prefetch: (needs, done) => {
        store.prefetch(needs).then(() => done(), done);
      },
      transmit: (to, envelopes) => this.#transport?.send(to, envelopes),
      endOfTurn: (run) => setImmediate(run),
      wakeAt: (at) => this.#wakeAt(at),
      fail: (error) => options.onFailure(error),
    });
    const settings = { ...DEFAULT_PARIS_SETTINGS, ...options.config.settings };
    const paris = {
      node: this.id,
      topology,
      epoch: EPOCH,
      settings,
      reader: store,
      recovered,
      unapplied,
      now: this.now(),
    };
    this.#paris = createParisNode(paris);
    this.coordinator = new ClientPort(this.id, (to, from, message) => this.#host.post({ to, from, message }));
    const sessionsAddress = { node: this.id, machine: SESSIONS_MACHINE };
    this.sessions = new SessionsMachine({
      post: (to, message) => this.#host.post({ to, from: sessionsAddress, message }),
    });
    for (const [name, machine] of this.#paris.machines) this.#host.add(name, machine);
    this.#host.add(CLIENT_MACHINE, this.coordinator);
    this.#host.add(SESSIONS_MACHINE, this.sessions);
  }

  async listen(storeId: string): Promise<void> {
    const { config, secret, logger } = this.options;
    const nodes = config.regions.flatMap((region) => region.nodes);
    const self = nodes.find((node) => node.id === this.id)!;
    this.#transport = await WebSocketTransport.open<NodeMessage>({
      self: this.id,
      peers: nodes.filter((node) => node !== self).map(({ id, peer }) => ({ node: id, url: peer })),
      listen: parsePeerUrl(self.peer),
      secret,
      clusterHash: config.hash,
      storeId,
      epoch: EPOCH,
      codec: new FrameCodec(nodeSchema),
      hlc: () => this.#paris.clock.last,
      delayMs: (from, to) => oneWayDelayMs(config, this.topology.regionOf(from), this.topology.regionOf(to)),
      log: (level, message, fields) => logger[level](fields, message),
      events: {
        frame: (_from, hlc, envelopes) => {
          this.#paris.clock.observe(hlc); // T2
          this.#host.receive(envelopes);
          this.#waiters.advance(this.ust());
        },
        link: (node, up) => {
          logger.info({ node, up }, up ? 'link up' : 'link down');
          this.#host.link(node, up);
        },
      },
    });
    this.#host.run();
  }

  now(): number {
    return Date.now() + (this.options.clockSkewMs ?? 0);
  }

  ust(): Timestamp {
    return this.#paris.stable.value;
  }

  hlc(): Timestamp {
    return this.#paris.clock.last;
  }

  stalenessMs(): number {
    return stalenessOf(this.ust(), this.now());
  }

  stable(ts: Timestamp, timeoutMs: number): Promise<Timestamp> {
    return this.#waiters.wait(ts, this.ust(), timeoutMs);
  }

  ready(): boolean {
    return this.#closing === undefined && this.#paris.stabilization.spoken;
  }

  status(): NodeStatus {
    return nodeStatus(this, this.#paris, this.store, this.#transport?.links() ?? [], this.#startedAt);
  }

  describe(): object {
    return this.#host.describe();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#host.stop();
    if (this.#wake !== undefined) clearTimeout(this.#wake.timer);
    this.#waiters.close();
    this.coordinator.close();
    await this.#transport?.close();
    await this.store.close();
  }

  /** One timer for all machines; it is moved only when an earlier time is asked for. */
  #wakeAt(at: number): void {
    if (this.#wake !== undefined) {
      if (this.#wake.at <= at) return;
      clearTimeout(this.#wake.timer);
    }
    const timer = setTimeout(
      () => {
        this.#wake = undefined;
        this.#host.wake();
        this.#waiters.advance(this.ust());
      },
      Math.max(1, at - this.now()),
    );
    this.#wake = { at, timer };
  }
}

/** Whether an error is the system's word for a taken port. */
export const isAddressInUse = (error: unknown): boolean =>
  error instanceof Error && !(error instanceof IsochronError) && 'code' in error && error.code === 'EADDRINUSE';
