/** The machines of a cluster in memory, by the family of its protocol, and the sessions that its nodes serve. */
import type { ClusterSpec, NodeId, Timestamp, Topology } from '@isochron/core';
import {
  type Address,
  CATALOGUE,
  type ClientRequest,
  clientRequests,
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
import type { StableTime } from '@isochron/protocols/kernel/replication/stable-time';
import type { ProtocolName } from '@isochron/protocols/session-rules';
import {
  ConnectedOperations,
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
  /** The latest timestamp that a client may name (T1). */
  latest(node: NodeId): Timestamp;
  /** Loses the messages that carry stable time to these nodes. */
  hold(nodes: ReadonlySet<NodeId>): void;
  /**
   * Another place where clients reach a node: a machine of its host.
   * @param stalls whether a write stays undecided: its request is lost between session and coordinator
   */
  serve(node: NodeId, machine: string, stalls: (txId: string) => boolean): SessionMaker;
}

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

type Options = ConstructorParameters<typeof World>[0];

const isStableTime = ({ type }: { readonly type: string }): boolean => type.startsWith('Gossip');

function transactions(entry: TransactionEntry, options: Options): Family {
  const { protocol, session } = entry;
  const world = new World({ ...options, protocol, session });
  const { topology, settings } = world;
  const checks = new SnapshotChecks(protocol.entries?.(topology) ?? 0);
  const tokens = new SessionTokens(tokenCluster(protocol.name), session, checks);
  return {
    entry,
    world,
    stable: (node) => world.node(node).parts.stable,
    store: (node) => world.node(node).store,
    latest: (node) => world.node(node).parts.clock.latest(world.now, settings.maxClockDriftMs / 2),
    hold: (nodes) => {
      world.filter = ({ to, message }) => !nodes.has(to.node) || !isStableTime(message);
    },
    serve: (node, machine, stalls) => {
      const { host, parts } = world.node(node);
      const post = (to: Address, from: Address, message: ClientRequest) => {
        if (message.type !== 'CommitReq' || !stalls(message.txId)) host.post({ to, from, message });
      };
      const port = new MachinePort<CoordinatorRequests>(clientRequests, node, { firstRef: 0, post }, machine);
      host.add(machine, port as Machine<TransactionMessage>);
      const outcomes = new OutcomeQuestions(port, {
        now: () => world.now,
        ust: () => parts.stable.value,
        outcomeRetentionMs: settings.outcomeRetentionMs,
      });
      return (served) => new TransactionSession(served, { coordinator: port, outcomes, tokens });
    },
  };
}

function operations(entry: OperationEntry, options: Options): Family {
  const { protocol, session: rules } = entry;
  const world = new OperationWorld(protocol, options);
  const tokens = new OperationTokens(tokenCluster(protocol.name));
  return {
    entry,
    world,
    stable: (node) => world.node(node).parts.stable,
    store: (node) => world.node(node).store,
    latest: (node) => world.node(node).parts.clock.latest(world.now, world.settings.maxClockDriftMs / 2),
    hold: (nodes) => {
      world.filter = ({ to, message }) => !nodes.has(to.node) || !isStableTime(message);
    },
    serve: (node, machine, stalls) => {
      const { host } = world.node(node);
      const post = (to: Address, from: Address, message: OperationRequest) => {
        if (message.type !== 'PutReq' || !stalls(message.txId)) host.post({ to, from, message });
      };
      const port = new MachinePort<OperationRequestMap>(operationRequests, node, { firstRef: 0, post }, machine);
      host.add(machine, port as Machine<OperationMessage>);
      return (served) =>
        new ConnectedOperations(served, {
          coordinator: port,
          tokens,
          session: (id, region, state) => new OperationSession(id, region, rules, state),
        });
    },
  };
}
