/** How a stretch of a replica's own groups travels to a peer (Alg. 4 lines 15 and 21). */
import type { PartitionId, RegionId } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { ReplicationMessage } from './messages.js';
import { type Stretch, stretches } from './replication-stream.js';

/** Whose groups they are. */
export interface Origin {
  readonly partition: PartitionId;
  readonly source: RegionId;
  /** Whether every peer has vouched for the disk that they lie on (D10). */
  readonly vouched: boolean;
}

/** Sends a stretch in pieces of bounded size; one without groups is a heartbeat. `more`: the log goes on behind it. */
export function sendStretch(
  to: Address,
  origin: Origin,
  { from, to: upTo, groups }: Stretch,
  more: boolean,
  out: Effects<ReplicationMessage>,
): void {
  if (groups.length === 0 && !more) {
    out.send(to, { type: 'Heartbeat', ...origin, from, to: upTo });
    return;
  }
  const cut = stretches(from, upTo, groups);
  cut.forEach((stretch, i) => {
    out.send(to, { type: 'Replicate', ...origin, ...stretch, more: more && i === cut.length - 1 });
  });
}
