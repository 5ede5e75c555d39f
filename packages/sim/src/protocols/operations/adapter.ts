/**
 * Protocols of single operations in the simulator. All of them are one kernel, and speak the same messages: a protocol comes in by saying
 * what is its own ({@link SimulatedOperations}).
 */
import type { LevelName } from '@isochron/checker';
import { openOperations } from '@isochron/client';
import type { Deps, PartitionId, RegionId, Timestamp, Topology, Version } from '@isochron/core';
import {
  createOperationNode,
  type OperationMessage,
  type OperationNode,
  type OperationProtocol,
  operationSchema,
  type Snapshot,
} from '@isochron/protocols';
import type { VisibilityIn } from '../../checks/visibility.js';
import { operationMix } from '../../plan/mix.js';
import type { Demands, NodeOptions, ProtocolAdapter, ProtocolNode, ReadsWait } from '../adapter.js';
import { driven, everywhere, KERNEL, REPLICATION_CRASH_POINTS, startOf, sumOf } from '../kernel.js';
import { Answers } from './observe.js';
import { openSessions } from './sessions.js';

/** What the snapshots of a protocol's read-only transactions are. */
export interface SimulatedSnapshots {
  /** What they show, after the paper. */
  readonly visibility: VisibilityIn;
  /** As checks compare it, where a replica of a region was asked for it. */
  snapshot(asked: Deps, region: RegionId, topology: Topology): Snapshot;
  /**
   * Up to where a replica that has answered promises to write nothing any more (Contrarian, Lemma 6); 0 where it
   * promises nothing.
   */
  closes(asked: Deps, region: RegionId, topology: Topology): number;
}

/**
 * How what a session has seen goes with what it reads and writes, after the paper. `seen` has as many entries as the protocol's sessions.
 */
export interface SimulatedSeen {
  /** Whether a snapshot covers it. */
  inSnapshot(seen: Deps, snapshot: Deps): boolean;
  /** Whether a version that a region writes depends on it. */
  inVersion(seen: Deps, version: Version, region: RegionId, topology: Topology): boolean;
  /** Whether it has what a version depends on that a region shows. */
  hasVersion(seen: Deps, version: Version, region: RegionId, topology: Topology): boolean;
}

/** All that a region has written on a partition, up to a timestamp. */
export interface Writes {
  readonly partition: PartitionId;
  readonly region: RegionId;
  readonly upTo: Timestamp;
}

/**
 * What a message claims to be in every replica, or its sender would not have said it so.
 *
 * @param question what it answers, where it answers something
 */
export type SimulatedComplete = (
  message: OperationMessage,
  question: OperationMessage | undefined,
  topology: Topology,
) => Writes | undefined;

/** What the simulator must know of one of them. */
export interface SimulatedOperations {
  readonly protocol: OperationProtocol;
  readonly clocks: ProtocolAdapter<OperationMessage>['clocks'];
  /** What it promises, and what it does not and is held to as well, to be seen to be caught. */
  readonly promises: Pick<Demands, 'level' | 'beyond'>;
  readonly readsWait: ReadsWait;
  /** Whether its writes wait for the very versions that they depend on; no where it is absent. */
  readonly waitsForVersions?: boolean;
  /** The snapshots of its read-only transactions; none where they have none that anybody could be held to. */
  readonly snapshots?: SimulatedSnapshots;
  /** What its sessions have seen; none where histories alone judge it. */
  readonly seen?: SimulatedSeen;
  /** What its nodes call fully replicated; none where they speak of that by stable times alone. */
  readonly complete?: SimulatedComplete;
  /** Messages that it alone has, between any two of which a node may crash. */
  readonly ownMessages?: readonly OperationMessage['type'][];
  /** Plans that give what is its own occasion to show. */
  readonly plans?: Pick<ProtocolAdapter<OperationMessage>, 'fit' | 'drawTimes' | 'drawMix'>;
}

/** Single operations and read-only transactions that are causally consistent. */
export const CAUSAL: SimulatedOperations['promises'] = { level: 'causal-with-read-only-transactions', beyond: [] };

/** The same without read-only transactions. */
export const CAUSAL_OPERATIONS: SimulatedOperations['promises'] = { level: 'causal-operations', beyond: [] };

/** Convergence and nothing else. */
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

/** How a protocol comes into the simulator. */
export function operationAdapter(simulated: SimulatedOperations): ProtocolAdapter<OperationMessage> {
  const { protocol, clocks, promises, readsWait, snapshots, seen, complete, ownMessages = [], plans } = simulated;
  const { waitsForVersions = false } = simulated;
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
      waitsForVersions,
      takesBack: false,
    },
    clocks,
    schema: operationSchema,
    crashPoints: [...CRASH_POINTS, ...ownMessages],
    drawsBursts: false,
    ...(plans ?? { fit: everywhere, drawMix: operationMix(readsAtOnce ? ROT_WEIGHT : 0) }),
    atOnce: { reads: readsAtOnce ? 10_000 : 1, writes: 1 },
    createNode: (options) => createNode(options, protocol),
    openSessions: (world) => openSessions(world, protocol),
    engine: openOperations(protocol.session),
    said: (message, from, to, tell, topology) => answers.said(message, from, to, tell, topology),
    answering: (message, cause) => answers.caused(message, cause),
  };
}

function createNode(options: NodeOptions, protocol: OperationProtocol): ProtocolNode<OperationMessage> {
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
