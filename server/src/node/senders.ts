/** Checks that messages come from the node that their link leads to. */
import type { AnyMessage, NodeId, RegionId, Topology } from '@isochron/core';
import type { Envelope } from '@isochron/transport';

/** In these messages a replica names its own region. */
const REGION_FIELDS: Readonly<Record<string, 'source' | 'region'>> = {
  Replicate: 'source',
  Heartbeat: 'source',
  Heartbeats: 'source',
  ResyncRefused: 'source',
  ResyncReq: 'region',
};

/**
 * The reason why messages cannot be the peer's own: they are sent in the name of another region. A node that could do
 * that would write the history of other regions. Undefined when they can.
 */
export function foreignSource<M extends AnyMessage>(
  topology: Topology,
  peer: NodeId,
  envelopes: readonly Envelope<M>[],
): string | undefined {
  const region = topology.regionOf(peer);
  for (const { message } of envelopes) {
    const field = REGION_FIELDS[message.type];
    if (field === undefined) continue;
    const named = (message as { readonly source?: RegionId; readonly region?: RegionId })[field];
    if (named !== region) return `${message.type} of ${named}, from ${peer}, which is in ${region}`;
  }
  return undefined;
}
