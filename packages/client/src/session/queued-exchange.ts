import type { Timestamp, TxId } from '@isochron/core/ids';
import type { Exchange } from '../link/exchange.js';

/** An exchange under way. */
export interface QueuedExchange<T = unknown> extends Exchange<T> {
  /** Its caller got OUTCOME_UNKNOWN; it goes on in the background. */
  readonly overdue?: boolean;
  /** When its caller called. */
  queuedMs?: number;
  /** Present for writes. */
  readonly txId?: TxId;
  readonly sentAfter?: Timestamp;
  /** Whether it may have had an effect, and that is not decided. */
  readonly inDoubt?: boolean;
  /** It was refused behind the write before it, and waits until that one is decided. */
  readonly held?: boolean;
  /** Its session goes on without it. */
  detached?: boolean;
  /** The write before it has ended, and is not known to have committed. */
  orphaned?: boolean;
  /** All before it are decided. */
  lead?(): void;
}

/** An entry that waits for its turn. */
export interface QueueEntry<T = unknown> {
  readonly writes: boolean;
  /** Its turn has come. `ended` is called once its outcome is known, or cannot be found out any more. */
  readonly begin: (ended: (committed?: boolean) => void) => QueuedExchange<T>;
  /** It has been cancelled. */
  readonly drop?: () => void;
}
