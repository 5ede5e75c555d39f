/** An entry of a session's commit queue, and the follower of entries. */
import type { Timestamp, TxId } from '@isochron/core/ids';
import type { KeyWrite } from '@isochron/core/versions';
import type { Caller, Exchange } from '../link/exchange.js';
import type { OutcomeExchange } from './outcome.js';
import type { Begin } from './parts.js';

/** A write, or a read under protocols of single operations, from its call to its end. */
export interface QueueEntry {
  /** Undefined for a read. */
  readonly writes: readonly KeyWrite[] | undefined;
  readonly begin: Begin<unknown>;
  readonly caller: Caller<unknown>;
  /** Called when the entry is withdrawn before its turn. */
  readonly drop: (() => void) | undefined;
  /** When its caller called. */
  readonly queuedMs: number;
  /** Undefined while the entry waits for its turn. */
  exchange?: Exchange;
  /** The exchange of a write, from its turn on. */
  write?: OutcomeExchange;
}

/** Follows the writes of a session from their calls to their ends. */
export interface WriteFollower {
  called(entry: QueueEntry): void;
  committed(entry: QueueEntry, ct: Timestamp, txId: TxId): void;
  /** A commit that was deferred is committed again, at this timestamp. */
  moved(txId: TxId, ct: Timestamp): void;
  /** Nothing is deferred any more. */
  resumed(): void;
  /** The write has had no effect, or its session goes on without it. */
  dropped(entry: QueueEntry): void;
}
