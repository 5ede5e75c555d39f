/** The heartbeats of a round: one message to each peer node, however many partitions they share. */
import type { NodeId, PartitionId, RegionId } from '@isochron/core';
import type { Effects } from '../machine.js';
import { ROUNDS_MACHINE } from './activity.js';
import type { Heartbeat, HeartbeatSpan, Heartbeats, ReplicationMessage } from './replication/messages.js';

interface OpenSpan extends HeartbeatSpan {
  readonly partitions: PartitionId[];
}

/**
 * Collects heartbeats. The version clocks of a node's replicas mostly move together, so that those with the same range
 * share one entry.
 */
export class HeartbeatCollector {
  /** Of this round. */
  #spans = new Map<NodeId, OpenSpan[]>();

  constructor(readonly source: RegionId) {}

  add(to: NodeId, { partition, from, to: upTo, verified }: Heartbeat): void {
    let spans = this.#spans.get(to);
    if (spans === undefined) {
      spans = [];
      this.#spans.set(to, spans);
    }
    const same = spans.findLast((span) => span.from === from && span.to === upTo && span.verified === verified);
    if (same === undefined) spans.push({ from, to: upTo, verified, partitions: [partition] });
    else same.partitions.push(partition);
  }

  /** Sends the collected heartbeats, and starts over. */
  flush(out: Pick<Effects<ReplicationMessage>, 'send'>): void {
    for (const [node, spans] of this.#spans)
      out.send({ node, machine: ROUNDS_MACHINE }, { type: 'Heartbeats', source: this.source, spans });
    // A new map: the old table of a cleared one would keep the next one alive, see core's `TransientMap`.
    this.#spans = new Map();
  }
}

/** The heartbeats in one message. */
export function heartbeatsIn({ source, spans }: Heartbeats): Heartbeat[] {
  const heartbeats: Heartbeat[] = [];
  for (const { from, to, verified, partitions } of spans)
    for (const partition of partitions) heartbeats.push({ type: 'Heartbeat', partition, source, from, to, verified });
  return heartbeats;
}
