/** The outcomes of the transactions of a run, and the errors that clients received. */
import { type ErrorCode, IsochronError, type Timestamp, type TxId } from '@isochron/core';
import type { HistoryStatus } from '@isochron/workload';
import type { LedgerEntry } from './ledger.js';

/** Errors that a client may receive because of any fault. */
const ALWAYS_EXPLAINED: readonly ErrorCode[] = [
  'CONNECTION_LOST',
  'OFFLINE',
  'REPLICA_UNREACHABLE',
  'SNAPSHOT_UNAVAILABLE',
  'SESSION_GAP',
  'SNAPSHOT_TOO_OLD',
  'TRANSACTION_EXPIRED',
  'TRANSACTION_ABORTED',
  'OUTCOME_UNKNOWN',
  'OUTCOME_PENDING',
  'SESSION_BLOCKED',
  'SESSION_DEFERRED',
  'NOT_READY',
  'OVERLOADED',
];

export class Tally {
  readonly outcomes: Record<HistoryStatus, number> = { committed: 0, aborted: 0, unknown: 0 };
  /** Errors by their code. */
  readonly errors: Record<string, number> = {};
  /** Errors that no fault explains. */
  readonly unexplained: string[] = [];
  readonly ledger: LedgerEntry[] = [];
  /** Transactions of unknown outcome. */
  readonly unknown: TxId[] = [];
  moves = 0;
  /** Sessions that ended without a close, as when a device is lost. */
  deaths = 0;
  /** The greatest timestamp of a commit that was acknowledged. */
  greatest: Timestamp = 0;
  readonly #explained: ReadonlySet<ErrorCode>;

  /** @param explained errors that clients may also receive, because of the faults of this run */
  constructor(explained: readonly ErrorCode[] = []) {
    this.#explained = new Set([...ALWAYS_EXPLAINED, ...explained]);
  }

  /** Counts a session's error. Returns the outcome of its transaction. @throws an error that is not the product's */
  failed(session: string, error: unknown): Exclude<HistoryStatus, 'committed'> {
    if (!(error instanceof IsochronError)) throw error;
    this.errors[error.code] = (this.errors[error.code] ?? 0) + 1;
    if (!this.#explained.has(error.code)) this.unexplained.push(`${session} met ${error.code}: ${error.message}`);
    // The outcome is no longer available. After any other error the transaction is aborted.
    return /^OUTCOME_(UNKNOWN|FORGOTTEN|LOST)$/.test(error.code) ? 'unknown' : 'aborted';
  }

  committed(timestamp: Timestamp | undefined): void {
    this.greatest = Math.max(this.greatest, timestamp ?? 0);
  }
}
