/** The machines of a cluster in memory, by the family of its protocol, and the sessions that its nodes serve. */
import type { AnyMessage, ClusterSpec, NodeId, Timestamp, Topology } from '@isochron/core';
import {
  type Address,
  CATALOGUE,
  type ClientRequest,
  clientRequests,
  type Input,
  type Machine,
  type OperationEntry,
  type OperationMessage,
  type OperationRequest,
  type OperationRequestMap,
  OperationSession,
  operationRequests,
  type TransactionEntry,
  type TransactionMessage,
} from '@isochron/protocols';
import type { Host } from '@isochron/protocols/host';
import type { NodeClock } from '@isochron/protocols/kernel/node-clock';
import type { StableTime } from '@isochron/protocols/kernel/replication/stable-time';
import type { ProtocolName } from '@isochron/protocols/session-rules';
import {
  ConnectedOperations,
  type CoordinatorPort,
  type CoordinatorRequests,
  MachinePort,
  OperationTokens,
  OutcomeQuestions,
  type ServedNode,
  type ServedSession,
  SessionTokens,
  SnapshotChecks,
  type TokenCluster,
  TransactionSession,
} from '@isochron/sessions';
import { OperationWorld } from '../world/operation-world.js';
import type { PlainStore } from '../world/plain-store.js';
import { World } from '../world/world.js';

/** Makes the session of a connection. */
export type SessionMaker = (node: ServedNode) => ServedSession;

/** The parts of a world of either family that a cluster in memory uses. */
export interface ClusterWorld {
  readonly topology: Topology;
  /** The time of a right clock. */
  readonly now: number;
  run(ms: number): void;
  after(ms: number, run: () => void): () => void;
}

/** The machines of a cluster. */
export interface Family {
  readonly entry: TransactionEntry | OperationEntry;
  readonly world: ClusterWorld;
  stable(node: NodeId): StableTime;
  /** What a node has stored. */
  store(node: NodeId): PlainStore;
  clock(node: NodeId): NodeClock;
  /** The latest timestamp that a client may name (T1). */
  latest(node: NodeId): Timestamp;
  /** Loses the messages that carry stable time to these nodes. */
  hold(nodes: ReadonlySet<NodeId>): void;
  /**
   * Another place where clients reach a node: a machine of its host.
   * @param stalls whether a write stays undecided: its request is lost between session and coordinator
   */
  serve(node: NodeId, machine: string, stalls?: (txId: string) => boolean): ServedPlace;
  /** kill -9, and a start on the same disk: the places where clients reach the node stay. */
  restart(node: NodeId): void;
}

/** A place where clients reach a node. */
export interface ServedPlace {
  /** Makes the session of a connection. */
  readonly open: SessionMaker;
  /** Takes requests for the node's coordinator; undefined where clients run operations. */
  readonly coordinator: CoordinatorPort | undefined;
}

const never = (): boolean => false;

const tokenCluster = (protocol: string): TokenCluster => ({
  secret: 'a secret for tests only',
  protocol,
  identity: 'test',
});

/** Rounds of an idle node are rare: a test lets hours pass. */
const SETTINGS = { maxClockDriftMs: 600_000, applyIntervalMs: 20, gossipIntervalMs: 20, idleBackoff: 256 };

/** The world of a protocol. */
export function familyOf(protocol: ProtocolName, spec: ClusterSpec): Family {
  const entry = CATALOGUE[protocol];
  const options = { spec, syncMs: 0, delayMs: () => 0, settings: SETTINGS };
  return entry.kind === 'transactions' ? transactions(entry, options) : operations(entry, options);
}

/** The port of a place, as a machine of the node's host. */
type PlacePort<M extends AnyMessage> = Machine<M> & { step(input: Input<M>): void; close(): void };

interface ClientPlace<M extends AnyMessage> {
  readonly machine: string;
  readonly port: PlacePort<M>;
}

/** The part of a world that places need. */
interface Hosts<M extends AnyMessage> {
  readonly topology: Topology;
  readonly now: number;
  node(node: NodeId): { readonly host: Pick<Host<M>, 'add'> };
  crash(node: NodeId): void;
  restart(node: NodeId): void;
}

/** The places where clients reach the nodes of a world. */
class ClientPlaces<M extends AnyMessage> {
  readonly #places = new Map<NodeId, ClientPlace<M>[]>();

  constructor(readonly world: Hosts<M>) {}

  add(node: NodeId, place: ClientPlace<M>): void {
    this.#places.set(node, [...(this.#places.get(node) ?? []), place]);
    this.#open(node, place);
  }

  restart(node: NodeId): void {
    const places = this.#places.get(node) ?? [];
    this.world.crash(node);
    for (const { port } of places) port.close();
    this.world.restart(node);
    for (const place of places) this.#open(node, place);
  }

  /** The port receives the state of the links here: a host sends only changes to a machine. */
  #open(node: NodeId, { machine, port }: ClientPlace<M>): void {
    const { topology, now } = this.world;
    this.world.node(node).host.add(machine, port);
    for (const other of topology.nodes) if (other !== node) port.step({ kind: 'link', now, node: other, up: true });
  }
}

type Options = ConstructorParameters<typeof World>[0];

/** The times of another region: without them stable time does not rise, and the nodes of a region agree on it. */
const isStableTime = ({ type }: { readonly type: string }): boolean => type === 'GossipRoot';

function transactions(entry: TransactionEntry, options: Options): Family {
  const { protocol, session } = entry;
  const world = new World({ ...options, protocol, session });
  const { topology, settings } = world;
  const checks = new SnapshotChecks(protocol.entries?.(topology) ?? 0);
  const places = new ClientPlaces<TransactionMessage>(world);
  const tokens = new SessionTokens(tokenCluster(protocol.name), session, checks);
  return {
    entry,
    world,
    stable: (node) => world.node(node).parts.stable,
    store: (node) => world.node(node).store,
    clock: (node) => world.node(node).parts.clock,
    latest: (node) => world.node(node).parts.clock.latest(world.now, settings.maxClockDriftMs / 2),
    hold: (nodes) => {
      world.filter = ({ to, message }) => !nodes.has(to.node) || !isStableTime(message);
    },
    serve: (node, machine, stalls = never) => {
      const post = (to: Address, from: Address, message: ClientRequest) => {
        if (message.type !== 'CommitReq' || !stalls(message.txId)) world.node(node).host.post({ to, from, message });
      };
      const port = new MachinePort<CoordinatorRequests>(clientRequests, node, { firstRef: 0, post }, machine);
      places.add(node, { machine, port: port as PlacePort<TransactionMessage> });
      const outcomes = new OutcomeQuestions(port, {
        now: () => world.now,
        ust: () => world.node(node).parts.stable.value,
        outcomeRetentionMs: settings.outcomeRetentionMs,
      });
      const open: SessionMaker = (served) => new TransactionSession(served, { coordinator: port, outcomes, tokens });
      return { open, coordinator: port };
    },
    restart: (node) => places.restart(node),
  };
}

function operations(entry: OperationEntry, options: Options): Family {
  const { protocol, session: rules } = entry;
  const world = new OperationWorld(protocol, options);
  const places = new ClientPlaces<OperationMessage>(world);
  const tokens = new OperationTokens(tokenCluster(protocol.name));
  return {
    entry,
    world,
    stable: (node) => world.node(node).parts.stable,
    store: (node) => world.node(node).store,
    clock: (node) => world.node(node).parts.clock,
    latest: (node) => world.node(node).parts.clock.latest(world.now, world.settings.maxClockDriftMs / 2),
    hold: (nodes) => {
      world.filter = ({ to, message }) => !nodes.has(to.node) || !isStableTime(message);
    },
    serve: (node, machine, stalls = never) => {
      const post = (to: Address, from: Address, message: OperationRequest) => {
        if (message.type !== 'PutReq' || !stalls(message.txId)) world.node(node).host.post({ to, from, message });
      };
      const port = new MachinePort<OperationRequestMap>(operationRequests, node, { firstRef: 0, post }, machine);
      places.add(node, { machine, port: port as PlacePort<OperationMessage> });
      const open: SessionMaker = (served) =>
        new ConnectedOperations(served, {
          coordinator: port,
          tokens,
          session: (id, region, state) => new OperationSession(id, region, rules, state),
        });
      return { open, coordinator: undefined };
    },
    restart: (node) => places.restart(node),
  };
}
