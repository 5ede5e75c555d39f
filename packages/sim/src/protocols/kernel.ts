/** The common part of the adapters of all protocols, whose nodes have one kernel. */
import { type AnyMessage, type ClusterSpec, IsochronError, type MessageSchema, newestTimestamp } from '@isochron/core';
import {
  type Address,
  DEFAULT_SETTINGS,
  heartbeatsIn,
  lacksData,
  type OperationNode,
  PeerClocks,
  type ReplicationMessage,
  type TransactionNode,
} from '@isochron/protocols';
import type { Observations } from '../checks/evidence/observations.js';
import type { ProtocolAdapter, ProtocolNode, SimulatedNodeOptions } from './adapter.js';
import { drawSettings, servesAgain } from './settings.js';

type Shared = Pick<
  ProtocolAdapter<AnyMessage>,
  'drawSettings' | 'founding' | 'lacksData' | 'servesAgain' | 'quarantines' | 'observeArrival'
>;

export const KERNEL: Shared = {
  drawSettings,
  founding: [{ kind: 'meta', name: 'joined', value: 1 }],
  lacksData,
  servesAgain,
  quarantines: (error) => error instanceof IsochronError && error.code === 'REBUILD_NEEDED',
  observeArrival: (message, { node }, observer) => {
    if (message.type === 'ResyncReq' && 'partition' in message && 'region' in message)
      observer.reported(node, Number(message.partition), String(message.region));
  },
};

/** The messages of replication and stabilisation between any two of which a node may crash. */
export const REPLICATION_CRASH_POINTS = ['Replicate', 'ResyncReq', 'GossipUp', 'GossipRoot', 'GossipDown'] as const;

/** The same partitions, each of them in every region. */
export const everywhere = ({ regions, keyspaces }: ClusterSpec): ClusterSpec => ({
  regions,
  keyspaces: keyspaces.map(({ name, partitions }) => ({ name, partitions, replication: regions.length })),
});

/** The options with which a driver starts a node. */
export const startOf = ({
  settings: { lateInOrder = 0, ...settings },
  diskIsFull,
  ...options
}: SimulatedNodeOptions) => ({
  ...options,
  lateInOrder: lateInOrder > 0 ? options.topology.partitions.map(({ keyspace }) => keyspace) : [],
  settings: { ...DEFAULT_SETTINGS, ...settings },
  writable: () => (diskIsFull() ? ('STORAGE_FULL' as const) : undefined),
});

/** The interface of a node for its driver. */
export function driven<M extends AnyMessage>(
  node: Pick<
    TransactionNode | OperationNode,
    'clock' | 'drift' | 'maps' | 'membership' | 'stabilization' | 'stable' | 'verification'
  >,
  { node: id, readings: { wall }, settings }: SimulatedNodeOptions,
  schema: MessageSchema<M>,
): Pick<
  ProtocolNode<M>,
  'hlc' | 'greeting' | 'meets' | 'receives' | 'ready' | 'latest' | 'ust' | 'maps' | 'served' | 'want'
> {
  const { clock, drift } = node;
  const peers = new PeerClocks<M>(clock, drift, newestTimestamp(schema));
  return {
    hlc: () => clock.last,
    greeting: () => ({ hlc: clock.last, wallMs: drift.wall(wall()) }),
    meets: (peer, greeting) => peers.meets(peer, greeting, wall()),
    receives: (peer, hlc, envelopes) => peers.receives(peer, hlc, envelopes, wall()),
    ready: (now) => {
      const { membership, stabilization, stable, verification } = node;
      const whole = membership.joined && stable.value >= membership.incarnation && stabilization.hasStableTime;
      const serves = whole && node.maps.current.isMember(id);
      return serves && clock.problem === undefined && verification.status(now).state !== 'verifying';
    },
    latest: () => clock.latest(wall(), (settings.maxClockDriftMs ?? DEFAULT_SETTINGS.maxClockDriftMs) / 2),
    ust: () => node.stable.value,
    maps: node.maps,
    served: () => node.stable.served,
    want: (ts) => node.stable.want(ts),
  };
}

/** A figure of all replicas of a node together. */
export const sumOf = <R>(replicas: readonly R[], count: (replica: R) => number): number =>
  replicas.reduce((total, replica) => total + count(replica), 0);

/** The promises between replicas and nodes. */
export function observeReplication(
  message: Extract<ReplicationMessage, { type: 'Heartbeat' | 'Heartbeats' | 'Replicate' | 'GossipDown' }>,
  { node }: Address,
  to: Address,
  observer: Observations,
): void {
  if (message.type === 'GossipDown') {
    observer.stable(node, message.ust);
    observer.announced(node, to.node, message.ust);
    return;
  }
  if (message.type === 'Heartbeats') {
    for (const { partition, to: upTo } of heartbeatsIn(message)) observer.published(node, partition, upTo);
    return;
  }
  if (message.type === 'Replicate') observer.replicated(node, message.partition, message.groups);
  observer.published(node, message.partition, message.to);
}
