import type { Timestamp, TxId } from '@isochron/core/ids';
import type { Exchange } from '../link/exchange.js';

/** What is under way. */
export interface QueuedExchange<T = unknown> extends Exchange<T> {
  /** Its caller got OUTCOME_UNKNOWN; it goes on in the background. */
  readonly overdue?: boolean;
  /** When it was asked for. */
  queuedMs?: number;
  /** Of a write. */
  readonly txId?: TxId;
  readonly sentAfter?: Timestamp;
  /** Whether it may have had an effect, and it is not known whether it has. */
  readonly inDoubt?: boolean;
  /** It waits until the one before it is decided: it was refused behind that one. */
  readonly held?: boolean;
  /** Its session goes on without it. */
  detached?: boolean;
  /** The one before it has ended, and is not known to have committed. */
  orphaned?: boolean;
  /** All before it are decided. */
  lead?(): void;
}

/** What waits for its turn. */
export interface QueueEntry<T = unknown> {
  readonly writes: boolean;
  /** Its turn has come. `ended` is called once its outcome is known, or nothing can find it out any more. */
  readonly begin: (ended: (committed?: boolean) => void) => QueuedExchange<T>;
  /** It has been taken back. */
  readonly drop?: () => void;
}
