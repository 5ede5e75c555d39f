import type { Timestamp } from './ids.js';
import { type Kind, optional, struct, timestamp, uint } from './schema.js';

/**
 * A node that a transaction needs (M4): the node has a slice of the transaction, or of an earlier write of the session
 * that was not stable.
 */
export interface Need {
  /** The number of the node; absent where only the timestamp of that write is known: any node may have it. */
  readonly node?: number | undefined;
  /** Commit timestamp of the earlier write; absent for a slice of the transaction itself. */
  readonly ct?: Timestamp | undefined;
}

export const need: Kind<Need> = struct<Need>({ node: optional(uint), ct: optional(timestamp) });
