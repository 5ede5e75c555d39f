/** Checks that messages come from the node that their link leads to. */
import type { AnyMessage, NodeId, PartitionId, RegionId, Topology } from '@isochron/core';
import type { Envelope } from '@isochron/transport';

/** In these messages a replica names its own region. */
const REGION_FIELDS: Readonly<Record<string, 'source' | 'region'>> = {
  Replicate: 'source',
  Heartbeat: 'source',
  Heartbeats: 'source',
  ResyncRefused: 'source',
  ResyncReq: 'region',
  GossipRoot: 'region',
  SuspectsResp: 'region',
  ReplicationAck: 'region',
  ReplicationComplete: 'region',
};

/**
 * A replica's messages, about its own partition. A node that sent those of others could invent their documents, and
 * decide their transactions.
 */
const OF_REPLICAS: ReadonlySet<string> = new Set([
  'Replicate',
  'Heartbeat',
  'ResyncReq',
  'ResyncRefused',
  'OutcomeResp',
  'SuspectsResp',
  'ReplicationAck',
  'ReplicationComplete',
  'ReadSliceResp',
  'ListSliceResp',
  'PrepareResp',
  'PrepareRefused',
  'ResolveResp',
]);

/**
 * The reason why messages cannot be the peer's own: they are sent in the name of another region, or of a replica
 * that it does not hold. A node that could do the first would write the history of other regions. Undefined when they
 * can.
 */
export function foreignSource<M extends AnyMessage>(
  topology: Topology,
  peer: NodeId,
  envelopes: readonly Envelope<M>[],
): string | undefined {
  const region = topology.regionOf(peer);
  for (const { message } of envelopes) {
    for (const { partitions } of spansIn(message)) {
      for (const partition of partitions) {
        const holder =
          region === undefined || partition === undefined ? undefined : holderOf(topology, partition, region);
        if (holder !== peer) return `${message.type} about partition ${partition}, of which ${peer} holds no replica`;
      }
    }
    const field = REGION_FIELDS[message.type];
    if (field === undefined) continue;
    const named = (message as { readonly source?: RegionId; readonly region?: RegionId })[field];
    if (named !== region) return `${message.type} of ${named}, from ${peer}, which is in ${region}`;
  }
  return undefined;
}

/** Partitions of a message; undefined for a missing partition. */
interface Span {
  readonly partitions: readonly (PartitionId | undefined)[];
}

/** The partitions whose replicas a message is about. */
function spansIn(message: AnyMessage): readonly Span[] {
  if (message.type === 'Heartbeats') return (message as { readonly spans?: readonly Span[] }).spans ?? [];
  return OF_REPLICAS.has(message.type)
    ? [{ partitions: [(message as { readonly partition?: PartitionId }).partition] }]
    : [];
}

/** Undefined for a partition that there is not. */
const holderOf = (topology: Topology, partition: PartitionId, region: RegionId): NodeId | undefined =>
  topology.partitions[partition] === undefined ? undefined : topology.replicaNode(partition, region);
