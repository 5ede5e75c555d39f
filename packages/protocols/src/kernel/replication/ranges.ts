/** How a range of a replica's own groups travels to a peer (Alg. 4 lines 15 and 21). */
import type { PartitionId, RegionId } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { ReplicationMessage } from './messages.js';
import { cutRanges, type ReplicationRange } from './replication-stream.js';

/** The source of the groups. */
export interface Origin {
  readonly partition: PartitionId;
  readonly source: RegionId;
  /** Whether every peer has verified the source's disk (D10). */
  readonly verified: boolean;
  /** Version of the map that the source has adopted. */
  readonly map: number;
}

/** Sends a range in pieces of bounded size; one without groups is a heartbeat. `more`: the log continues after it. */
export function sendRange(
  to: Address,
  { map, ...origin }: Origin,
  { from, to: upTo, groups }: ReplicationRange,
  more: boolean,
  out: Effects<ReplicationMessage>,
): void {
  if (groups.length === 0 && !more) {
    out.send(to, { type: 'Heartbeat', ...origin, from, to: upTo });
    return;
  }
  const cut = cutRanges(from, upTo, groups);
  cut.forEach((range, i) => {
    const last = more && i === cut.length - 1;
    out.send(to, { type: 'Replicate', ...origin, ...range, more: last, ...(map === 0 ? {} : { map }) });
  });
}
