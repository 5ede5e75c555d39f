/**
 * Protocols of interactive transactions in the simulator. All of them have one kernel and the same messages: a protocol
 * is added by its entry in the catalogue and its row in `table.ts` ({@link SimulatedTransactions}).
 */
import { openTransactions } from '@isochron/client';
import {
  createTransactionNode,
  Session,
  type SessionState,
  type TransactionEntry,
  type TransactionMessage,
  type TransactionNode,
  type TransactionProtocol,
} from '@isochron/protocols';
import type { VisibilityIn } from '../../checks/evidence/visibility.js';
import { transactionMix } from '../../plan/mix.js';
import type { ProtocolAdapter, ProtocolNode, SimulatedNodeOptions } from '../adapter.js';
import { driven, everywhere, KERNEL, REPLICATION_CRASH_POINTS, startOf, sumOf } from '../kernel.js';
import { HttpFront } from './http.js';
import { isOfSessions, type NodeMessage, nodeSchema } from './message.js';
import { observeReply, observeSend } from './observe.js';
import { openSessions } from './sessions.js';
import { sessionTokens } from './tokens.js';

/** The simulator's view of one of them, beside its entry in the catalogue. */
export interface SimulatedTransactions {
  readonly clocks: ProtocolAdapter<TransactionMessage>['clocks'];
  /** Whether a replica lets reads wait until it has their snapshot. */
  readonly readsWait: boolean;
  /**
   * The versions that snapshots show, after the paper; undefined if reads do not follow them. A protocol without
   * snapshots does not promise transactional causal consistency. It is checked for it all the same, to show that the
   * checks notice.
   */
  readonly visibility: VisibilityIn | undefined;
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

/** No protocol bounds them; the wire does, far above the numbers in plans. */
const AT_ONCE = { reads: 10_000, writes: 10_000 };

const CAUSAL = { level: 'transactional-causal', beyond: [] } as const;
const NOT_CAUSAL = { level: 'eventual', beyond: ['transactional-causal'] } as const;

/** The adapter of a protocol. */
export function transactionAdapter(
  entry: TransactionEntry,
  { clocks, readsWait, visibility }: SimulatedTransactions,
): ProtocolAdapter<NodeMessage> {
  const { protocol, capabilities } = entry;
  const stableSnapshots = capabilities.has('stable-snapshots');
  const createSession = (id: string, state?: SessionState) => new Session(id, entry.session, state);
  return {
    ...KERNEL,
    name: protocol.name,
    demands: {
      ...(visibility === undefined ? NOT_CAUSAL : CAUSAL),
      visibility,
      clientSnapshots: true,
      readsWait: readsWait ? 'for-snapshots' : 'never',
      waitsForVersions: false,
      takesBack: protocol.stableSnapshots ?? false,
    },
    clocks,
    schema: nodeSchema,
    crashPoints: CRASH_POINTS,
    fit: protocol.unsupported === undefined ? (cluster) => cluster : everywhere,
    drawMix: transactionMix,
    drawsBursts: true,
    drawsUpdates: capabilities.has('updates'),
    drawsReaders: capabilities.has('changes'),
    drawsLive: capabilities.has('live-queries'),
    drawsAlbums: capabilities.has('live-queries'),
    drawsMaps: stableSnapshots,
    atOnce: AT_ONCE,
    createNode: (options) => createNode(options, protocol),
    openHttp: (world) => new HttpFront(world, sessionTokens(world, entry), createSession),
    openSessions: (world) => openSessions(world, entry),
    engine: openTransactions(createSession),
    observeSend: (message, from, to, observer) => {
      if (!isOfSessions(message)) observeSend(message, from, to, observer, stableSnapshots);
    },
    observeReply: (message, cause, from, observer) => {
      if (!isOfSessions(message) && !isOfSessions(cause)) observeReply(message, cause, from, observer);
    },
  };
}

function createNode(options: SimulatedNodeOptions, protocol: TransactionProtocol): ProtocolNode<NodeMessage> {
  const node = createTransactionNode(startOf(options), protocol);
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
  prepared: sumOf(replicas, ({ cohort }) => cohort.slices.prepared.size),
  committed: sumOf(replicas, ({ cohort }) => cohort.slices.committed.size),
  waitingReads: sumOf(replicas, ({ waiting }) => waiting.size),
});
