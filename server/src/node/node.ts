/** Host, disk, links and status of a node, the same under every protocol. */
import { randomInt } from 'node:crypto';
import {
  type DurableRecord,
  IsochronError,
  type MessageSchema,
  type NodeId,
  newestTimestamp,
  type QualifiedKey,
  type SessionCut,
  type Timestamp,
  type Topology,
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
import { type Done, type PortDriver, type SessionMessage, StableWaiters } from '@isochron/sessions';
import { isOutOfRoom, type ReopenableStore } from '@isochron/storage';
import { type IncomingConnections, WebSocketTransport } from '@isochron/transport';
import { FrameCodec } from '@isochron/wire';
import { type ClusterConfig, oneWayDelayMs } from '../config/cluster-file.js';
import { peerTls } from '../tls/peer-tls.js';
import { after } from './after.js';
import type { Costs, NodeStatus, RunningNode } from './api.js';
import { differingNodes, reportDifferences } from './cluster-file-log.js';
import type { OpenedData } from './data-folder.js';
import { DiskWatch } from './disk-watch.js';
import type { LeavingPort, StayReason } from './leaving.js';
import { lossLogger, type OperatorPort } from './losses.js';
import type { NodeOptions } from './options.js';
import type { OrdersPort } from './orders.js';
import { outsiderLogger } from './outsider-log.js';
import { PeerHealth } from './peer-health.js';
import { NO_PROTECTION, PeerProtection } from './protection.js';
import type { ServedProtocol } from './protocols.js';
import { closedCleanly, isDamage, isDiskFailure, quarantine } from './quarantine.js';
import { logRebuild } from './rebuild-log.js';
import { foreignSource } from './senders.js';
import { type Figures, nodeStatus } from './status.js';
import { Traffic } from './traffic.js';
import { reportVerification } from './verification-log.js';
import { VisibilitySampler } from './visibility.js';
import type { Blocked } from './waits.js';
import { WakeTimer } from './wake-timer.js';

/** Requests whose only effect is on disk. */
const WRITES: ReadonlySet<string> = new Set(['CommitReq', 'PutReq', 'AcknowledgeLossesReq']);

export interface Described {
  /** State of every machine, for diagnosis. */
  describe(): object;
}

/** Parts of a node. */
export interface Parts {
  readonly options: NodeOptions;
  readonly topology: Topology;
  readonly data: OpenedData;
  readonly soleCopy: boolean;
}

/** Host, disk, links and status, the same under every protocol. */
export abstract class Node<M extends TransactionMessage | OperationMessage | SessionMessage> implements RunningNode {
  abstract readonly protocol: ServedProtocol;
  /** The requests of the node's clients. */
  abstract readonly port: { close(): void };
  protected abstract readonly machines: TransactionNode | OperationNode;
  protected abstract readonly operator: OperatorPort;
  /** Under protocols with maps. */
  protected readonly leaving: LeavingPort | undefined;
  readonly orders: OrdersPort | undefined;
  protected abstract readonly schema: MessageSchema<M>;
  readonly id: NodeId;
  readonly region: string;
  readonly config: ClusterConfig;
  readonly options: NodeOptions;
  readonly topology: Topology;
  readonly soleCopy: boolean;
  readonly store: ReopenableStore;
  protected readonly host: Host<M>;
  /** Options for the protocol's machines. */
  protected readonly common: CommonNodeOptions;
  readonly #disk: DiskWatch;
  readonly #startedAt = Date.now();
  /** Callers that wait for this node's stable time, and for the time that all nodes serve. */
  readonly #waitersHere = new StableWaiters(after);
  readonly #waitersEverywhere = new StableWaiters(after);
  readonly #traffic: Traffic;
  readonly #health: PeerHealth;
  readonly #protection: PeerProtection;
  #visibility: VisibilitySampler | undefined;
  #transport: WebSocketTransport<M> | undefined;
  #peers: PeerClocks<M> | undefined;
  readonly #progress = new StableProgress();
  readonly #timer = new WakeTimer(() => {
    this.host.wake();
    this.#advanced();
  });
  #closing: Promise<void> | undefined;
  #stopReporting = (): void => {};
  /** The disk has no room even for refusals: the node has cut itself off, and serves reads. */
  #stranded = false;

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
    this.#health = new PeerHealth(this.id, topology, options.logger, () => this.machines.maps);
    const { protection = NO_PROTECTION, logger } = options;
    this.#protection = new PeerProtection(protection);
    this.#protection.onMissing(() => logger.error(`the node serves no client: it is ${this.#protection.missing}`));
    protection.onChange(() => this.#transport?.renew());
    this.host = new Host<M>(this.id, {
      now: () => this.now(),
      persist: (records, done) => this.#persist(records, done),
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
      wakeAfter: (ms) => this.#timer.wakeAfter(ms),
      fail: (error) => this.#fail(error),
    });
    const settings = { ...DEFAULT_SETTINGS, ...options.config.settings };
    this.common = {
      node: this.id,
      topology,
      settings,
      lateInOrder: options.config.lateInOrder,
      reader: store,
      recovered,
      now: this.now(),
      acceptLoss: options.acceptLoss ?? false,
      setAside,
      lost: lossLogger(options.logger, topology),
      outsider: outsiderLogger(options.logger),
      writable: () => (this.#acceptsFuture ? 'CLOCK_DRIFT' : this.#disk.refuse()),
      readings: this.#acceptsFuture ? undefined : { wall: () => this.now(), steady: () => performance.now() },
    };
  }

  /** Figures of the machines. */
  protected abstract figures(): Figures;
  protected abstract blocked(): Blocked;
  /** The version that a new session reads here. */
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
    return {
      firstRef: randomInt(2 ** 32),
      post: (to, from, message) => this.host.post({ to, from, message }),
      refusal: (message) => this.#strandedRefusal(message),
    };
  }

  async listen(storeId: string): Promise<void> {
    await this.#disk.start();
    const { config, secret, secondSecret, logger, peering, peerCertificates } = this.options;
    const { membership, clock, drift } = this.machines;
    if (!membership.joined || !membership.settled)
      logRebuild(this.machines, this.topology, logger, () => this.#closing !== undefined);
    const peers = new PeerClocks<M>(clock, drift, newestTimestamp(this.schema));
    this.#peers = peers;
    this.#transport = await WebSocketTransport.open<M>({
      self: this.id,
      ...peering,
      secret,
      secondSecret,
      tls: peerCertificates && peerTls(config.cluster, peerCertificates),
      clusterHash: config.hash,
      protection: () => this.#protection.own.current,
      storeId,
      codec: new FrameCodec(this.schema),
      hlc: () => this.machines.clock.last,
      delayMs: (from, to) => oneWayDelayMs(config, this.topology.regionOf(from), this.topology.regionOf(to)),
      log: (level, message, fields) => logger[level](fields, message),
      wallClock: () => this.now(),
      tuning: this.options.peerLimits ?? {},
      events: {
        meets: ({ nodeId, hlc, wallMs, protection }, lateMs) => {
          this.#protection.meets(nodeId, protection);
          return peers.meets(nodeId, { hlc, wallMs }, this.now(), lateMs);
        },
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
    this.#health.onChange(() => this.silent(this.#health.silent));
    this.#health.start((peer) => this.#transport?.silentMs(peer));
    this.host.run();
    const stops = [
      reportVerification(() => this.verification(), logger),
      reportDifferences(config.hash, () => differingNodes(this.#transport?.links() ?? []), logger),
    ];
    this.#stopReporting = () => {
      for (const stop of stops) stop();
    };
  }

  /** The nodes from which nothing comes have changed. */
  protected silent(_nodes: readonly NodeId[]): void {}

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

  map(): number {
    return this.machines.maps.current.version;
  }

  cutsAfter(version: number): readonly SessionCut[] {
    return this.machines.maps.cutsAfter(version);
  }

  leave(timeoutMs: number): Promise<StayReason | undefined> {
    return this.leaving?.leave(timeoutMs) ?? Promise.resolve('no-members');
  }

  comeBack(): void {
    this.leaving?.comeBack();
  }

  hlc(): Timestamp {
    return this.machines.clock.last;
  }

  steady(): number {
    return performance.now();
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
    const whole = membership.joined && stable.value >= membership.incarnation && this.#isMember;
    const clocked = this.#acceptsFuture || this.machines.clock.problem === undefined;
    if (this.#closing !== undefined || !whole || !clocked || !stabilization.hasStableTime) return false;
    if (this.#protection.missing !== undefined) return false;
    return this.verification().state !== 'verifying';
  }

  get #isMember(): boolean {
    return this.machines.maps.current.isMember(this.id);
  }

  unprotected(): string | undefined {
    return this.#protection.missing;
  }

  onUnprotected(listener: () => void): void {
    this.#protection.onMissing(listener);
  }

  verification(): VerificationStatus {
    return this.machines.verification.status(this.now());
  }

  status(): NodeStatus {
    const links = this.#transport?.links() ?? [];
    const counters = { ...this.#peers?.counters };
    return nodeStatus(
      this,
      this.machines,
      this.figures(),
      this.store,
      links,
      this.#startedAt,
      counters,
      this.#disk.status,
      this.#protection.status,
    );
  }

  peerConnections(): IncomingConnections | undefined {
    return this.#transport?.incoming();
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
    this.leaving?.close();
    this.orders?.close();
    await this.#disk.stop();
    this.#health.stop();
    await this.#transport?.close();
    await this.store.close();
    // The last writes may not be on disk: in memory mode only a clean close of the store proves that they are.
    if (!this.#stranded) await closedCleanly(this.options.dataDir);
  }

  #persist(records: readonly DurableRecord[], done: (error?: unknown) => void): void {
    this.store.commit(records).then(
      () => done(),
      (error) => (isOutOfRoom(error) ? this.#outOfRoom(error, records, done) : done(error)),
    );
  }

  /**
   * The disk has no room for a batch. With the reserve released the batch is written, and no machine observes that it
   * came late. Without a reserve the node can promise nothing, not even that a write is refused. It cuts itself off, so
   * that the others go on without it, and serves reads until there is room. Then it starts again.
   */
  #outOfRoom(error: unknown, records: readonly DurableRecord[], done: (error?: unknown) => void): void {
    const { logger, onFailure } = this.options;
    const released = this.#disk.release();
    if (released) {
      logger.error(
        { err: error },
        'the disk is full: the reserve is given up, and writes are refused until there is room',
      );
      this.host.pause();
      this.store.reopen().then(
        () => {
          this.#persist(records, done);
          this.host.resume();
        },
        (failure) => this.#fail(failure),
      );
      return;
    }
    logger.error(
      { err: error },
      'the disk is full, and so is the reserve: the node cuts itself off until there is room',
    );
    this.#stranded = true;
    void this.#transport?.close();
    void this.#disk.room().then(() => onFailure(error));
  }

  /** A commit that has not begun may begin elsewhere: its client receives that reason, not a final abort. */
  #strandedRefusal({ type }: M): IsochronError | undefined {
    if (!this.#stranded || !WRITES.has(type)) return undefined;
    this.#disk.refuse();
    return new IsochronError(
      'NOT_READY',
      `The disk of ${this.id} is full; nothing was written. Ask another node, or make room: it takes writes again by itself.`,
    );
  }

  /**
   * A record on disk is damaged: no request is served from it, and the node is rebuilt as soon as that loses no data.
   */
  #damaged(error: unknown): void {
    if (!isDamage(error)) return;
    this.options.logger.error({ err: error, record: error.record }, 'a record on disk is damaged');
    this.machines.membership.retire(error.message);
  }

  /**
   * The node ends. The verdict on its disk is written down first: damage that was found in the middle of a step retires
   * the node at its next start. Damage that keeps it from starting has it rebuilt, unless its disk has an only copy.
   */
  #fail(error: unknown): void {
    this.options.onFailure(this.#judged(error));
  }
  #judged(error: unknown): unknown {
    const { membership } = this.machines;
    // Half a copy is dropped at the next start in any case.
    if (!membership.joined || !isDiskFailure(error)) return error;
    const first = isDamage(error) && membership.retiring === undefined;
    if (isDamage(error) && !first && this.soleCopy)
      return new IsochronError('STORAGE_FAILED', error.message, { retryable: false });
    quarantine(this.options.dataDir, { step: first ? 'retire' : 'rebuild', reason: error.message });
    return error;
  }

  #advanced(): void {
    const { value, served } = this.machines.stable;
    this.#progress.advance(value, performance.now());
    this.#waitersHere.advance(value);
    this.#waitersEverywhere.advance(served);
  }
}
