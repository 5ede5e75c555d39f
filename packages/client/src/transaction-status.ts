import type { Timestamp } from '@isochron/core/ids';
import type { TxState } from '@isochron/wire/session-frames';

/**
 * What became of a transaction.
 *
 * - `committed`: it is durable, at `timestamp`.
 * - `aborted`: nothing of it was written, and nothing will be unless its commit is still repeated.
 * - `pending`: it is on its way; its participants, or this client, will decide it. Ask again.
 * - `open`: it was started and has not been committed yet.
 * - `unknown`: no node that could be asked knows how it ended. A commit that is still under way somewhere may arrive yet.
 * - `forgotten`: it is older than the outcomes that are kept; only the keys themselves show it. What a repeated commit is refused with
 *   is `OUTCOME_FORGOTTEN`.
 * - `lost`: a node that took part has lost its disk, and what it knew with it.
 */
export interface TransactionStatus {
  readonly state: TxState;
  /** Commit timestamp; of an open transaction, its snapshot; else undefined. */
  readonly timestamp: Timestamp | undefined;
}
