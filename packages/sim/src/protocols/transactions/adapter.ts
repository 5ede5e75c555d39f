/**
 * Protocols of interactive transactions in the simulator. All of them are one kernel, and speak the same messages: a protocol comes in by
 * saying what is its own ({@link SimulatedTransactions}).
 */
import { openTransactions } from '@isochron/client';
import {
  createTransactionNode,
  type Session,
  type SessionState,
  type TransactionMessage,
  type TransactionNode,
  type TransactionProtocol,
  unappliedAfter,
} from '@isochron/protocols';
import type { Capability } from '@isochron/sessions';
import type { VisibilityIn } from '../../checks/visibility.js';
import { transactionMix } from '../../plan/mix.js';
import type { NodeOptions, ProtocolAdapter, ProtocolNode } from '../adapter.js';
import { driven, everywhere, KERNEL, REPLICATION_CRASH_POINTS, startOf, sumOf } from '../kernel.js';
import { HttpFront } from './http.js';
import { isOfSessions, type NodeMessage, nodeSchema } from './message.js';
import { observeReply, observeSend } from './observe.js';
import { openSessions } from './sessions.js';
import { sessionTokens } from './tokens.js';

/** What the simulator must know of one of them. */
export interface SimulatedTransactions {
  readonly protocol: TransactionProtocol;
  createSession(id: string, state?: SessionState): Session;
  /** Where a partition may be: in some regions, or in all of them. */
  readonly replication: 'partial' | 'full';
  readonly clocks: ProtocolAdapter<TransactionMessage>['clocks'];
  /** Every snapshot that a client is given is installed in every region. */
  readonly stableSnapshots: boolean;
  /** Whether a replica lets reads wait until it has their snapshot. */
  readonly readsWait: boolean;
  /** What snapshots show, after the paper; undefined where they decide nothing. */
  readonly visibility: VisibilityIn | undefined;
  /**
   * Whether it promises transactional causal consistency. All are held to it, so that one that does not is seen to be
   * caught.
   */
  readonly causal: boolean;
}

/** Messages between any two of which a node may crash. */
const CRASH_POINTS: readonly TransactionMessage['type'][] = [
  'CommitReq',
  'PrepareReq',
  'PrepareResp',
  'PrepareRefused',
  'CommitTx',
  'AbortTx',
  'ResolveReq',
  'ResolveResp',
  'CommitResp',
  ...REPLICATION_CRASH_POINTS,
];

/** No protocol bounds them; the wire does, far above what plans have. */
const AT_ONCE = { reads: 10_000, writes: 10_000 };

const CAUSAL = { level: 'transactional-causal', beyond: [] } as const;
const NOT_CAUSAL = { level: 'eventual', beyond: ['transactional-causal'] } as const;

/** How a protocol comes into the simulator. */
export function transactionAdapter(simulated: SimulatedTransactions): ProtocolAdapter<NodeMessage> {
  const { protocol, replication, clocks, stableSnapshots, readsWait, visibility, causal, createSession } = simulated;
  return {
    ...KERNEL,
    name: protocol.name,
    demands: {
      ...(causal ? CAUSAL : NOT_CAUSAL),
      visibility,
      clientSnapshots: true,
      readsWait: readsWait ? 'for-snapshots' : 'never',
      waitsForVersions: false,
      takesBack: protocol.stableSnapshots ?? false,
    },
    clocks,
    schema: nodeSchema,
    crashPoints: CRASH_POINTS,
    fit: replication === 'full' ? everywhere : (cluster) => cluster,
    drawMix: transactionMix,
    drawsBursts: true,
    atOnce: AT_ONCE,
    createNode: (options) => createNode(options, protocol),
    openHttp: (world) => new HttpFront(world, sessionTokens(world.topology, protocol, createSession), createSession),
    openSessions: (world) => openSessions(world, protocol, capabilitiesOf(simulated), createSession),
    engine: openTransactions(createSession),
    observeSend: (message, from, to, observer) => {
      if (!isOfSessions(message)) observeSend(message, from, to, observer, stableSnapshots);
    },
    observeReply: (message, cause, from, observer) => {
      if (!isOfSessions(message) && !isOfSessions(cause)) observeReply(message, cause, from, observer);
    },
  };
}

const capabilitiesOf = ({ causal, stableSnapshots }: SimulatedTransactions): Capability[] => [
  'transactions',
  'list',
  'stable',
  'chained-commits',
  ...(causal ? (['snapshots', 'read-past'] as const) : []),
  ...(stableSnapshots ? (['stable-snapshots'] as const) : []),
];

function createNode(options: NodeOptions, protocol: TransactionProtocol): ProtocolNode<NodeMessage> {
  const { node: id, topology, recovered, logAfter } = options;
  const region = topology.regionOf(id);
  const unapplied = new Map(
    topology.partitionsOn(id).map((p) => [p, logAfter(p, unappliedAfter(recovered, p, region))] as const),
  );
  const node = createTransactionNode({ ...startOf(options), unapplied }, protocol);
  return {
    ...driven(node, options, nodeSchema),
    machines: node.machines,
    load: () => loadOf(node),
    backlog: () => backlogOf(node),
    losses: () => node.losses.all,
  };
}

function loadOf({ coordinator: { table, reads, commits } }: TransactionNode): Readonly<Record<string, number>> {
  return { openTransactions: table.size, reads: reads.size, commits: commits.size };
}

const backlogOf = ({ replicas }: TransactionNode): Readonly<Record<string, number>> => ({
  prepared: sumOf(replicas, ({ cohort }) => cohort.prepared.size),
  committed: sumOf(replicas, ({ cohort }) => cohort.committed.size),
  waitingReads: sumOf(replicas, ({ waiting }) => waiting.size),
});
