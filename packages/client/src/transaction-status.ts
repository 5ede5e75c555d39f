import type { Timestamp } from '@isochron/core/ids';
import type { TxState } from '@isochron/wire/session-frames';

/**
 * The outcome of a transaction.
 *
 * - `committed`: it is durable, at `timestamp`.
 * - `aborted`: nothing of it was written, and nothing will be unless its commit is still repeated.
 * - `pending`: it is on its way; its participants, or this client, will decide it. Ask again.
 * - `deferred`: a node with a part of it was suspended. It is committed again, at a later timestamp: by its session, or
 *   by that node once it is back. Ask again.
 * - `open`: it was started and has not been committed yet.
 * - `unknown`: no reachable node has its outcome. A commit that is still under way may arrive yet.
 * - `forgotten`: it is older than the outcomes that are kept, or its outcome went with a disk; only the keys themselves
 *   show it. A repeated commit is refused with `OUTCOME_FORGOTTEN` or `OUTCOME_LOST`.
 * - `lost`: a lost disk took a part of it, and no attempt took effect; the rest was taken back, or is reported.
 */
export interface TransactionStatus {
  readonly state: TxState;
  /** Commit timestamp; of an open transaction, its snapshot; else undefined. */
  readonly timestamp: Timestamp | undefined;
}
