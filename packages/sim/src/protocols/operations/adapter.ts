/**
 * Protocols of single operations in the simulator. All of them have one kernel and the same messages: a protocol is
 * added by its entry in the catalogue and its row in `table.ts` ({@link SimulatedOperations}).
 */
import type { LevelName } from '@isochron/checker';
import { openOperations } from '@isochron/client';
import {
  createOperationNode,
  type OperationEntry,
  type OperationMessage,
  type OperationNode,
  type OperationProtocol,
  operationSchema,
} from '@isochron/protocols';
import { operationMix } from '../../plan/mix.js';
import type { Demands, ProtocolAdapter, ProtocolNode, ReadsWait, SimulatedNodeOptions } from '../adapter.js';
import { driven, everywhere, KERNEL, REPLICATION_CRASH_POINTS, startOf, sumOf } from '../kernel.js';
import { Answers } from './observe.js';
import { openSessions } from './sessions.js';
import type { SimulatedComplete, SimulatedSeen, SimulatedSnapshots } from './simulated.js';

/** The simulator's view of one of them, beside its entry in the catalogue. */
export interface SimulatedOperations {
  readonly clocks: ProtocolAdapter<OperationMessage>['clocks'];
  /** The level that it promises, and levels that it does not promise, to show that the checks notice. */
  readonly promises: Pick<Demands, 'level' | 'beyond'>;
  readonly readsWait: ReadsWait;
  /** The snapshots of its read-only transactions; absent if there are none that can be checked. */
  readonly snapshots?: SimulatedSnapshots;
  /** The rules for what its sessions have seen; absent if only histories judge it. */
  readonly seen?: SimulatedSeen;
  /** The reports of full replication by its nodes; absent if they report it by stable times alone. */
  readonly complete?: SimulatedComplete;
  /**
   * Messages by which its writes wait for the very versions that they depend on; absent if writes do not wait. Between
   * any two of them a node may crash.
   */
  readonly ownMessages?: readonly OperationMessage['type'][];
  /** Plans under which its own rules matter. */
  readonly plans?: Pick<ProtocolAdapter<OperationMessage>, 'fit' | 'drawTimes' | 'drawMix'>;
}

/** Single operations and read-only transactions that are causally consistent. */
export const CAUSAL: SimulatedOperations['promises'] = { level: 'causal-with-read-only-transactions', beyond: [] };

/** The same without read-only transactions. */
export const CAUSAL_OPERATIONS: SimulatedOperations['promises'] = { level: 'causal-operations', beyond: [] };

/** Convergence alone. */
export const NOT_CAUSAL: SimulatedOperations['promises'] = {
  level: 'eventual',
  beyond: ['causal-with-read-only-transactions' satisfies LevelName],
};

/** Messages between any two of which a node may crash. */
const CRASH_POINTS: readonly OperationMessage['type'][] = [
  'GetReq',
  'PutReq',
  'RotReq',
  'GetSliceReq',
  'GetSliceResp',
  'PutSliceReq',
  'PutSliceResp',
  'SettleReq',
  'SettleResp',
  'SnapReq',
  'SnapResp',
  'RotSliceReq',
  'RotSliceResp',
  'PutResp',
  ...REPLICATION_CRASH_POINTS,
];

/** How often a plan has read-only transactions, in comparison with its other operations. */
const ROT_WEIGHT = 6;

/** The adapter of a protocol. */
export function operationAdapter(
  entry: OperationEntry,
  simulated: SimulatedOperations,
): ProtocolAdapter<OperationMessage> {
  const { protocol } = entry;
  const { clocks, promises, readsWait, snapshots, seen, complete, ownMessages = [], plans } = simulated;
  const readsAtOnce = protocol.rots !== false;
  const answers = new Answers(snapshots, seen, complete);
  return {
    ...KERNEL,
    name: protocol.name,
    demands: {
      ...promises,
      visibility: snapshots?.visibility,
      clientSnapshots: false,
      readsWait,
      waitsForVersions: ownMessages.length > 0,
      takesBack: false,
    },
    clocks,
    schema: operationSchema,
    crashPoints: [...CRASH_POINTS, ...ownMessages],
    drawsBursts: false,
    drawsUpdates: false,
    drawsReaders: false,
    drawsLive: false,
    drawsAlbums: false,
    drawsMaps: false,
    ...(plans ?? { fit: everywhere, drawMix: operationMix(readsAtOnce ? ROT_WEIGHT : 0) }),
    atOnce: { reads: readsAtOnce ? 10_000 : 1, writes: 1 },
    createNode: (options) => createNode(options, protocol),
    openSessions: (world) => openSessions(world, entry),
    engine: openOperations(entry.session),
    observeSend: (message, from, to, observer, topology) => answers.observeSend(message, from, to, observer, topology),
    observeReply: (message, cause) => answers.caused(message, cause),
  };
}

function createNode(options: SimulatedNodeOptions, protocol: OperationProtocol): ProtocolNode<OperationMessage> {
  const node = createOperationNode(startOf(options), protocol);
  return {
    ...driven(node, options, operationSchema),
    machines: node.machines,
    load: () => loadOf(node),
    backlog: () => backlogOf(node),
    losses: () => node.losses.all,
  };
}

const loadOf = ({ coordinator }: OperationNode): Readonly<Record<string, number>> => ({
  asked: coordinator.asked,
  readOnlyTransactions: coordinator.rots.size,
  arrivals: coordinator.arrivals.size,
});

const backlogOf = ({ replicas }: OperationNode): Readonly<Record<string, number>> => ({
  waitingReads: sumOf(replicas, ({ waitingReads }) => waitingReads.size),
  waitingPuts: sumOf(replicas, ({ waitingPuts }) => waitingPuts.size),
  unsettledVersions: sumOf(replicas, ({ versions }) => versions.size),
});
