import type { Timestamp, TxId } from '@isochron/core/ids';
import type { KeyWrite } from '@isochron/core/versions';
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
  /** It is known to have had no effect: rejects, whatever its own exchange knows. */
  endsWithout?(reason: unknown): void;
}

/** An entry that waits for its turn. */
export interface QueueEntry<T = unknown> {
  /** Undefined for a read. */
  readonly writes: readonly KeyWrite[] | undefined;
  /**
   * Its turn has come. `ended` is called once its outcome is known, with the timestamp of a commit, or when it cannot
   * be found out any more.
   */
  readonly begin: (ended: (committedAt?: Timestamp) => void) => QueuedExchange<T>;
  /** It has been cancelled. */
  readonly drop?: () => void;
}

/** Follows the writes of a session from their calls to their ends. */
export interface WriteFollower {
  called(entry: QueueEntry): void;
  committed(entry: QueueEntry, ct: Timestamp, txId: TxId): void;
  /** It has had no effect, or its session goes on without it. */
  dropped(entry: QueueEntry): void;
}
