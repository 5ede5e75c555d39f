/** Opens a node: disk, machines, links (D7, D14). What serves users stands on the result, see `http/` and `ws/`. */
import { randomInt } from 'node:crypto';
import {
  IsochronError,
  type LogGroup,
  type MessageSchema,
  type NodeId,
  newestTimestamp,
  type PartitionId,
  type QualifiedKey,
  type Timestamp,
  Topology,
  type TxId,
  type Version,
} from '@isochron/core';
import {
  type CommonNodeOptions,
  DEFAULT_SETTINGS,
  type Envelope,
  Host,
  type Loss,
  type Machine,
  type OperationMessage,
  type OperationNode,
  PeerClocks,
  StableProgress,
  type TransactionMessage,
  type TransactionNode,
  type Unresponsive,
  type VerificationStatus,
} from '@isochron/protocols';
import {
  ASKED_TIMER,
  CLIENT_MACHINE,
  ClientPort,
  type Done,
  OperationPort,
  type PortDriver,
  SESSIONS_MACHINE,
  type SessionMessage,
  SessionsMachine,
  StableWaiters,
} from '@isochron/sessions';
import type { VersionStore } from '@isochron/storage';
import { WebSocketTransport } from '@isochron/transport';
import { FrameCodec } from '@isochron/wire';
import { type ClusterConfig, clusterSpec, oneWayDelayMs } from '../config/cluster-file.js';
import type { ProtocolName } from '../config/protocol-names.js';
import { newSessionId } from '../session/ids.js';
import { snapshotChecks } from '../session/tokens.js';
import { after } from './after.js';
import type { AnyNode, Costs, NodeStatus, OperationsNode, RunningNode, TransactionsNode } from './api.js';
import { type OpenedData, openDataFolder } from './data-folder.js';
import { DiskWatch } from './disk-watch.js';
import { closedCleanly, distrust, isDamage, isDistrust } from './distrust.js';
import { lossLogger, OPERATOR_MACHINE, OperatorPort } from './losses.js';
import { type NodeMessage, nodeSchema } from './messages.js';
import type { NodeOptions } from './options.js';
import { PeerHealth } from './peer-health.js';
import { PromisedCoordinator, PromisedOperations } from './promised.js';
import { type ServedOperations, type ServedProtocol, type ServedTransactions, servedProtocol } from './protocols.js';
import { logRebuild } from './rebuild-log.js';
import { foreignSource } from './senders.js';
import { type Figures, nodeStatus, operationFigures, transactionFigures } from './status.js';
import { Traffic } from './traffic.js';
import { loadUnapplied } from './unapplied.js';
import { reportVerification } from './verification-log.js';
import { VisibilitySampler } from './visibility.js';
import { type Blocked, operationWaits, transactionWaits } from './waits.js';
import { WakeTimer } from './wake-timer.js';

/** Epoch of the topology: moves when the placement is changed by an operation. */
const EPOCH = 0;

interface Described {
  /** State of every machine, for diagnosis. */
  describe(): object;
}

export type OpenedNode = Described & AnyNode;

/**
 * Recovers the node from its disk, listens for peers and begins to take part.
 * @throws IsochronError STORAGE_FAILED, PLACEMENT_MISMATCH; a system error EADDRINUSE when the peer port is taken
 */
export async function openNode(options: NodeOptions): Promise<OpenedNode> {
  const { config, node, dataDir } = options;
  const topology = new Topology(clusterSpec(config));
  const held = topology.partitionsOn(node).map((id) => ({ id, name: topology.partitions[id]!.name }));
  const placement = { node, clusterId: config.cluster, protocol: config.protocol, partitions: held };
  const { durability, cacheBytes } = config.settings;
  const soleCopy = held.some(({ id }) => topology.partitions[id]!.regions.length === 1);
  const folder = { dataDir, placement, durability, cacheBytes, soleCopy, logger: options.logger };
  const data = await openDataFolder(folder);
  try {
    const protocol: ServedProtocol = servedProtocol<ProtocolName>(config.protocol);
    const parts = { options, topology, data, soleCopy };
    const running =
      protocol.kind === 'operations'
        ? new OpenOperationsNode(parts, protocol)
        : new OpenTransactionsNode(parts, protocol, await loadUnapplied(data, topology, node));
    await running.listen(data.storeId);
    return running;
  } catch (error) {
    await data.store.close();
    throw error;
  }
}

/** What a node is made of. */
interface Parts {
  readonly options: NodeOptions;
  readonly topology: Topology;
  readonly data: OpenedData;
  readonly soleCopy: boolean;
}

/** Host, disk, links and status, the same under every protocol. */
abstract class Node<M extends TransactionMessage | OperationMessage | SessionMessage> implements RunningNode {
  abstract readonly protocol: ServedProtocol;
  /** What stands for the node's clients. */
  abstract readonly port: { close(): void };
  protected abstract readonly machines: TransactionNode | OperationNode;
  protected abstract readonly operator: OperatorPort;
  protected abstract readonly schema: MessageSchema<M>;
  readonly id: NodeId;
  readonly region: string;
  readonly config: ClusterConfig;
  readonly options: NodeOptions;
  readonly topology: Topology;
  readonly soleCopy: boolean;
  readonly store: VersionStore;
  protected readonly host: Host<M>;
  /** What the protocol's machines are opened with. */
  protected readonly common: CommonNodeOptions;
  readonly #disk: DiskWatch;
  readonly #startedAt = Date.now();
  /** Callers that wait for this node's stable time, and for the time that all nodes serve. */
  readonly #waitersHere = new StableWaiters(after);
  readonly #waitersEverywhere = new StableWaiters(after);
  readonly #traffic: Traffic;
  readonly #health: PeerHealth;
  #visibility: VisibilitySampler | undefined;
  #transport: WebSocketTransport<M> | undefined;
  #peers: PeerClocks<M> | undefined;
  readonly #progress = new StableProgress();
  readonly #timer = new WakeTimer(
    () => this.now(),
    () => {
      this.host.wake();
      this.#advanced();
    },
  );
  #closing: Promise<void> | undefined;
  #stopReporting = (): void => {};

  constructor({ options, topology, data: { store, recovered, setAside }, soleCopy }: Parts) {
    this.options = options;
    this.topology = topology;
    this.soleCopy = soleCopy;
    this.id = options.node;
    this.store = store;
    this.#disk = new DiskWatch(options.dataDir, options.config.settings, (err) => {
      options.logger.error({ err }, 'the disk cannot be measured');
    });
    this.config = options.config;
    this.region = topology.regionOf(this.id);
    this.#traffic = new Traffic(this.region, (node) => topology.regionOf(node));
    this.#health = new PeerHealth(this.id, topology, options.logger);
    this.host = new Host<M>(this.id, {
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
      wakeAt: (at) => this.#timer.wakeAt(at),
      fail: (error) => this.#fail(error),
    });
    const settings = { ...DEFAULT_SETTINGS, ...options.config.settings };
    this.common = {
      node: this.id,
      topology,
      epoch: EPOCH,
      settings,
      reader: store,
      recovered,
      now: this.now(),
      acceptLoss: options.acceptLoss ?? false,
      setAside,
      lost: lossLogger(options.logger, topology),
      writable: () => (this.#acceptsFuture ? 'CLOCK_DRIFT' : this.#disk.refusal),
      readings: this.#acceptsFuture ? undefined : { wall: () => this.now(), steady: () => performance.now() },
    };
  }

  /** What the machines have counted. */
  protected abstract figures(): Figures;
  protected abstract blocked(): Blocked;
  /** What a session that has seen nothing reads here. */
  protected abstract newest(key: QualifiedKey): Promise<Version | null>;

  /** Adds the machines to the host: the last step of a constructor. */
  protected add(
    machines: readonly (readonly [name: string, machine: Machine<M>])[],
    retiring: string | undefined,
  ): void {
    if (retiring !== undefined) this.machines.membership.retire(retiring);
    for (const [name, machine] of machines) this.host.add(name, machine);
  }

  protected portDriver(): PortDriver<M> {
    return { firstRef: randomInt(2 ** 32), post: (to, from, message) => this.host.post({ to, from, message }) };
  }

  async listen(storeId: string): Promise<void> {
    await this.#disk.start();
    const { config, secret, logger, peering } = this.options;
    const { membership, clock, drift } = this.machines;
    if (!membership.joined || !membership.settled)
      logRebuild(this.machines, this.topology, logger, () => this.#closing !== undefined);
    const peers = new PeerClocks<M>(clock, drift, newestTimestamp(this.schema));
    this.#peers = peers;
    this.#transport = await WebSocketTransport.open<M>({
      self: this.id,
      ...peering,
      secret,
      clusterHash: config.hash,
      storeId,
      epoch: EPOCH,
      codec: new FrameCodec(this.schema),
      hlc: () => this.machines.clock.last,
      delayMs: (from, to) => oneWayDelayMs(config, this.topology.regionOf(from), this.topology.regionOf(to)),
      log: (level, message, fields) => logger[level](fields, message),
      wallClock: () => this.now(),
      events: {
        meets: ({ nodeId, hlc, wallMs }, lateMs) => peers.meets(nodeId, { hlc, wallMs }, this.now(), lateMs),
        foreign: (from, envelopes) => foreignSource(this.topology, from, envelopes),
        refuses: (from, hlc, envelopes) => peers.receives(from, hlc, envelopes, this.now()),
        frame: (_from, _hlc, envelopes) => {
          this.host.receive(envelopes);
          this.#advanced();
          this.#sample(envelopes);
        },
        sent: (to, frame) => this.#traffic.count(to, frame),
        link: (node, up) => {
          logger.info({ node, up }, up ? 'link up' : 'link down');
          this.host.link(node, up);
          this.#health.look();
        },
      },
    });
    this.#health.start((peer) => this.#transport?.silentMs(peer));
    this.host.run();
    this.#stopReporting = reportVerification(() => this.verification(), logger);
  }

  get unresponsive(): Unresponsive {
    return this.#health.unresponsive;
  }

  onUnresponsive(listener: () => void): void {
    this.#health.onChange(listener);
  }

  get #acceptsFuture(): boolean {
    return this.options.acceptFuture ?? false;
  }

  now(): number {
    return Date.now() + (this.options.clockSkewMs ?? 0);
  }

  ust(): Timestamp {
    return this.machines.stable.value;
  }

  hlc(): Timestamp {
    return this.machines.clock.last;
  }

  latest(): Timestamp {
    return this.machines.clock.latest(this.now(), this.config.settings.maxClockDriftMs / 2);
  }

  stalenessMs(): number {
    return this.#progress.stalenessMs(this.ust(), this.now(), performance.now());
  }

  /** Why the wall clock of this node may not go into timestamps (K2); undefined when it may. */
  clockProblem(): string | undefined {
    return this.machines.clock.problem;
  }

  stable(ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void {
    const { stable } = this.machines;
    stable.want(ts);
    this.#waitersEverywhere.wait(ts, stable.served, timeoutMs, done);
  }

  visibleHere(ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void {
    this.#waitersHere.wait(ts, this.ust(), timeoutMs, done);
  }

  /** After a loss, commits are accepted from sessions born later (D10): not before UST has passed it. */
  ready(): boolean {
    const { membership, stabilization, stable } = this.machines;
    const whole = membership.joined && stable.value >= membership.lostUpTo;
    const clocked = this.#acceptsFuture || this.machines.clock.problem === undefined;
    if (this.#closing !== undefined || !whole || !clocked || !stabilization.spoken) return false;
    return this.verification().state !== 'verifying';
  }

  verification(): VerificationStatus {
    return this.machines.verification.status(this.now());
  }

  status(): NodeStatus {
    const links = this.#transport?.links() ?? [];
    const counters = { ...this.#peers?.counters };
    return nodeStatus(this, this.machines, this.figures(), this.store, links, this.#startedAt, counters);
  }

  costs(): Costs {
    const { replicatedUpdates, metadataBytes } = this.#traffic;
    const sent: Costs['sent'] = (kind, scope) => this.#traffic.of(kind, scope);
    return { blocked: this.blocked(), replicatedUpdates, metadataBytes, sent };
  }

  losses(): readonly Loss[] {
    return this.machines.losses.all;
  }

  acknowledgeLosses(transactions: readonly TxId[] | 'all'): Promise<number> {
    return this.operator.acknowledgeLosses(transactions);
  }

  onVisible(listener: (source: string, ms: number) => void): void {
    const read = (key: QualifiedKey) => this.newest(key);
    this.#visibility = new VisibilitySampler({ now: () => this.now(), read, visible: listener });
  }

  #sample(envelopes: readonly Envelope<M>[]): void {
    if (this.#visibility === undefined) return;
    for (const { message } of envelopes) if (message.type === 'Replicate') this.#visibility.received(message);
  }

  describe(): object {
    return this.host.describe();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.host.stop();
    this.#stopReporting();
    this.#timer.stop();
    this.#waitersHere.close();
    this.#waitersEverywhere.close();
    this.#visibility?.close();
    this.port.close();
    this.operator.close();
    this.#disk.stop();
    this.#health.stop();
    await this.#transport?.close();
    await this.store.close();
    await closedCleanly(this.options.dataDir);
  }

  /** A record on disk is damaged: no request is served from it, and the node is rebuilt as soon as that loses nothing. */
  #damaged(error: unknown): void {
    if (!isDamage(error)) return;
    this.options.logger.error({ err: error, record: error.record }, 'a record on disk is damaged');
    this.machines.membership.retire(error.message);
  }

  /**
   * The node ends. What is to become of its disk is written down first: a damage that was met in the middle of a step retires the node at
   * its next start; when that keeps it from going on, it is rebuilt, unless it has somebody's only copy.
   */
  #fail(error: unknown): void {
    this.options.onFailure(this.#judged(error));
  }
  #judged(error: unknown): unknown {
    const { membership } = this.machines;
    // Half a copy is thrown away at the next start in any case.
    if (!membership.joined || !isDistrust(error)) return error;
    const first = isDamage(error) && membership.retiring === undefined;
    if (isDamage(error) && !first && this.soleCopy)
      return new IsochronError('STORAGE_FAILED', error.message, { retryable: false });
    distrust(this.options.dataDir, { step: first ? 'retire' : 'rebuild', reason: error.message });
    return error;
  }

  #advanced(): void {
    const { value, served } = this.machines.stable;
    this.#progress.advance(value, performance.now());
    this.#waitersHere.advance(value);
    this.#waitersEverywhere.advance(served);
  }
}

class OpenTransactionsNode extends Node<NodeMessage> implements TransactionsNode {
  readonly protocol: ServedTransactions;
  readonly port: ClientPort;
  readonly coordinator: PromisedCoordinator;
  readonly sessions: SessionsMachine;
  protected readonly schema: MessageSchema<NodeMessage>;
  protected readonly machines: TransactionNode;
  protected readonly operator: OperatorPort;

  constructor(parts: Parts, protocol: ServedTransactions, unapplied: ReadonlyMap<PartitionId, readonly LogGroup[]>) {
    super(parts);
    this.protocol = protocol;
    this.schema = nodeSchema(protocol);
    this.machines = protocol.open({ ...this.common, unapplied });
    this.port = new ClientPort(this.id, this.portDriver());
    this.coordinator = new PromisedCoordinator(this.port);
    const checks = snapshotChecks(this.config);
    this.sessions = new SessionsMachine({
      wake: () => this.host.fire(SESSIONS_MACHINE, ASKED_TIMER),
      session: protocol.session,
      fits: (deps) => checks.fits(deps),
      newId: newSessionId,
      now: () => performance.now(),
      firstRef: randomInt(2 ** 32),
    });
    this.operator = new OperatorPort(this.id, this.portDriver());
    const ports = [
      [CLIENT_MACHINE, this.port],
      [SESSIONS_MACHINE, this.sessions],
      [OPERATOR_MACHINE, this.operator],
    ] as const;
    this.add([...this.machines.machines, ...ports], parts.data.retiring);
  }

  protected figures(): Figures {
    return transactionFigures(this.machines);
  }

  protected blocked(): Blocked {
    return transactionWaits(this.machines);
  }

  protected async newest(key: QualifiedKey): Promise<Version | null> {
    const { versions } = await this.coordinator.read({ txId: null, ust: this.ust(), at: null, keys: [key] });
    return versions[0] ?? null;
  }
}

class OpenOperationsNode extends Node<OperationMessage> implements OperationsNode {
  readonly protocol: ServedOperations;
  readonly port: OperationPort;
  readonly coordinator: PromisedOperations;
  protected readonly schema: MessageSchema<OperationMessage>;
  protected readonly machines: OperationNode;
  protected readonly operator: OperatorPort;

  constructor(parts: Parts, protocol: ServedOperations) {
    super(parts);
    this.protocol = protocol;
    this.schema = protocol.schema;
    this.machines = protocol.open(this.common);
    this.port = new OperationPort(this.id, this.portDriver());
    this.coordinator = new PromisedOperations(this.port);
    this.operator = new OperatorPort(this.id, this.portDriver());
    const ports = [
      [CLIENT_MACHINE, this.port],
      [OPERATOR_MACHINE, this.operator],
    ] as const;
    this.add([...this.machines.machines, ...ports], parts.data.retiring);
  }

  protected figures(): Figures {
    return operationFigures(this.machines);
  }

  protected blocked(): Blocked {
    return operationWaits(this.machines);
  }

  protected async newest(key: QualifiedKey): Promise<Version | null> {
    const { version } = await this.coordinator.get(this.protocol.session('', this.region).get(key));
    return version;
  }
}
