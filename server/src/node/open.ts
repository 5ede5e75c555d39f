/** Opens a node: disk, machines, links (D7, D14). What serves users stands on the result, see `http/` and `ws/`. */
import {
  IsochronError,
  type LogGroup,
  MAX_TIMESTAMP,
  type NodeId,
  type PartitionId,
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
import type { VersionStore } from '@isochron/storage';
import { WebSocketTransport } from '@isochron/transport';
import { FrameCodec } from '@isochron/wire';
import type { Logger } from 'pino';
import { type ClusterConfig, clusterSpec, oneWayDelayMs } from '../config/cluster-file.js';
import type { Peering } from '../config/peering.js';
import { SESSIONS_MACHINE, SessionsMachine } from '../session/machine.js';
import type { NodeStatus, RunningNode } from './api.js';
import { CLIENT_MACHINE, ClientPort } from './client-port.js';
import { type OpenedData, openDataFolder } from './data-folder.js';
import { DiskWatch } from './disk-watch.js';
import { closedCleanly, distrust, isDamage, isDistrust } from './distrust.js';
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
  /** Where this node listens for its peers and dials them. */
  readonly peering: Peering;
  readonly logger: Logger;
  /** Partitions that no node has a copy of any more may come back empty (D10): an operator's word, given once. */
  readonly acceptLoss?: boolean;
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
  const placement = { node, clusterId: config.cluster, partitions: held };
  const { durability, cacheBytes } = config.settings;
  const soleCopy = held.some(({ id }) => topology.partitions[id]!.regions.length === 1);
  const folder = { dataDir, placement, durability, cacheBytes, soleCopy, logger: options.logger };
  const data = await openDataFolder(folder);
  try {
    const running = new Node(options, topology, data, await loadUnapplied(data, topology, node), soleCopy);
    await running.listen(data.storeId);
    return running;
  } catch (error) {
    await data.store.close();
    throw error;
  }
}

/** The committed transactions of each partition that were not applied before the restart. */
async function loadUnapplied(
  { store, recovered }: OpenedData,
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
  readonly store: VersionStore;
  readonly #disk: DiskWatch;
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
    { store, recovered, retiring, setAside }: OpenedData,
    unapplied: ReadonlyMap<PartitionId, readonly LogGroup[]>,
    readonly soleCopy: boolean,
  ) {
    this.id = options.node;
    this.store = store;
    this.#disk = new DiskWatch(options.dataDir, options.config.settings, (err) => {
      options.logger.error({ err }, 'the disk cannot be measured');
    });
    this.config = options.config;
    this.region = topology.regionOf(this.id);
    this.#host = new Host<NodeMessage>(this.id, {
      now: () => this.now(),
      persist: (records, done) => {
        store.commit(records).then(() => done(), done);
      },
      resident: (needs) => store.resident(needs),
      prefetch: (needs, done) => {
        store.prefetch(needs).then(
          () => done(),
          (error) => {
            this.#damaged(error);
            done(error);
          },
        );
      },
      transmit: (to, envelopes) => this.#transport?.send(to, envelopes),
      endOfTurn: (run) => setImmediate(run),
      wakeAt: (at) => this.#wakeAt(at),
      fail: (error) => this.#fail(error),
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
      acceptLoss: options.acceptLoss ?? false,
      setAside,
      writable: () => this.#disk.refusal,
    };
    this.#paris = createParisNode(paris);
    if (retiring !== undefined) this.#paris.membership.retire(retiring);
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
    await this.#disk.start();
    if (!this.#paris.membership.joined) this.#watchRebuild();
    const { config, secret, logger, peering } = this.options;
    this.#transport = await WebSocketTransport.open<NodeMessage>({
      self: this.id,
      ...peering,
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

  /** After a loss, commits are accepted from sessions born later (D10): the first of them are possible when UST has passed it. */
  ready(): boolean {
    const { membership, stabilization, stable } = this.#paris;
    const whole = membership.joined && stable.value >= membership.lostUpTo;
    return this.#closing === undefined && whole && stabilization.spoken;
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
    this.#disk.stop();
    await this.#transport?.close();
    await this.store.close();
    await closedCleanly(this.options.dataDir);
  }

  /** Says how the node comes back, and which partitions cannot. */
  #watchRebuild(): void {
    const { logger } = this.options;
    logger.info('this node has no data of its own yet; it asks its peers');
    let told = 0;
    const timer = setInterval(() => {
      const { lostPartitions, remaining, counters } = this.#paris.rebuild.describe();
      if (this.#paris.membership.joined || this.#closing !== undefined) {
        clearInterval(timer);
        if (this.#closing === undefined) logger.info({ ...counters }, 'joined');
      } else if (lostPartitions.length > 0 && told++ % 30 === 0) {
        const partitions = lostPartitions.map((id) => this.topology.partitions[id]!.name);
        logger.error(
          { partitions },
          'these partitions have no copy anywhere: restore a backup, or start with --accept-loss',
        );
      } else if (remaining !== null) logger.info({ ...counters, remaining: remaining.length }, 'fetching data');
    }, 1_000);
    timer.unref();
  }

  /** A record on disk is not what was written: nobody is served from it, and the node is rebuilt as soon as that loses nothing. */
  #damaged(error: unknown): void {
    if (!isDamage(error)) return;
    this.options.logger.error({ err: error, record: error.record }, 'a record on disk is damaged');
    this.#paris.membership.retire(error.message);
  }

  /**
   * The node ends. What is to become of its disk is written down first: a damage that was met in the middle of a step retires the node at
   * its next start; when that keeps it from going on, it is rebuilt, unless it has somebody's only copy.
   */
  #fail(error: unknown): void {
    this.options.onFailure(this.#judged(error));
  }

  #judged(error: unknown): unknown {
    const { membership } = this.#paris;
    // Half a copy is thrown away at the next start in any case.
    if (!membership.joined || !isDistrust(error)) return error;
    const first = isDamage(error) && membership.retiring === undefined;
    if (isDamage(error) && !first && this.soleCopy) {
      return new IsochronError('STORAGE_FAILED', error.message, { retryable: false });
    }
    distrust(this.options.dataDir, { step: first ? 'retire' : 'rebuild', reason: error.message });
    return error;
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
