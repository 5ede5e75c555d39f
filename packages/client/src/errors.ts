import { type ErrorCode, IsochronError } from '@isochron/core/errors';
import type { Timestamp, TxId } from '@isochron/core/ids';
import type { TransactionStatus } from './transaction-status.js';

/**
 * The commit may or may not have happened: its answer was lost and no node could be asked before the deadline. `code`
 * is `OUTCOME_UNKNOWN`. The client keeps asking in the background, and holds the session's later commits until the
 * outcome is known.
 *
 * It is not retryable: another call is another transaction, and both may happen. Await `outcome` before writing again;
 * a call with an `id` may be repeated under it.
 *
 * `client.transactionStatus(error)` asks for the outcome, now or later; from another client, device or process, ask
 * with `{ txId, sentAfter }`, which is plain JSON to keep.
 */
export class OutcomeUnknownError extends IsochronError {
  /** @internal Drivers resolve `outcome` with it. */
  settle: (status: TransactionStatus) => void = () => {};
  /**
   * The outcome, once this client has it: `committed`, or `aborted`, and then nothing was written; `forgotten` or
   * `unknown` if it cannot be found out any more, as by a closed client. Never rejects.
   */
  outcome!: Promise<TransactionStatus>;

  constructor(
    /** Id of the transaction, for `client.transactionStatus` and `GET /v1/transactions/:id`. */
    readonly txId: TxId,
    /** Stable time when it was sent: distinguishes a transaction too old to be known from one that never was. */
    readonly sentAfter: Timestamp,
    reason: string,
    cause?: unknown,
  ) {
    super('OUTCOME_UNKNOWN', `the outcome of transaction ${txId} is not known: ${reason}`, { cause, retryable: false });
  }
}

/**
 * A write waited behind one with an unknown outcome for a whole request timeout. Nothing of it was sent. `code` is
 * `SESSION_BLOCKED`. The session's writes happen one after the other, so none of them can overtake the one that blocks:
 * its outcome becomes known when the node that took part in it answers again. Repeat the write then, or give up the
 * order with `client.detach()`.
 */
export class SessionBlockedError extends IsochronError {
  constructor(
    /** Id of the transaction that blocks, for `client.transactionStatus`. */
    readonly blockedBy: TxId,
    /** Stable time when that transaction was sent. */
    readonly sentAfter: Timestamp,
  ) {
    super('SESSION_BLOCKED', `the outcome of transaction ${blockedBy} is not known: nothing was sent`);
  }
}

/**
 * Whether a thrown value is an Isochron error, and has this code if one is given.
 *
 * @param error anything that was caught
 * @param code a stable code such as `SNAPSHOT_TOO_OLD`
 */
export const isIsochronError = (error: unknown, code?: ErrorCode): error is IsochronError =>
  error instanceof IsochronError && (code === undefined || error.code === code);

/** The fields of a server's error frame. */
export interface ServerFault {
  readonly code: string;
  readonly detail: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number | undefined;
}

/** The error of a server's error frame. A code from a newer server is kept; any other text becomes INTERNAL. */
export function serverError({ code, detail, retryable, retryAfterMs }: ServerFault): IsochronError {
  const known = /^[A-Z_]+$/.test(code) ? (code as ErrorCode) : 'INTERNAL';
  return new IsochronError(known, detail, { retryable, retryAfterMs });
}

/** A request missed its deadline: without an answer, or without a node that can be reached. */
export const late = (isOffline: boolean): IsochronError =>
  isOffline
    ? new IsochronError('OFFLINE', 'no node could be reached in time')
    : new IsochronError('CONNECTION_LOST', 'no answer in time');

export const clientClosed = (): IsochronError => new IsochronError('CLIENT_CLOSED', 'the client was closed');

/** A server sent data that is not a frame, or a frame that does not fit here. */
export const malformed = (what: string, cause?: unknown): IsochronError =>
  new IsochronError('FRAME_INVALID', `the server sent ${what}`, { retryable: true, cause });

/** The error that a caller gets for a thrown value: an IsochronError as it is, any other wrapped. */
export const toIsochronError = (error: unknown): IsochronError =>
  error instanceof IsochronError ? error : new IsochronError('INTERNAL', String(error), { cause: error });

/** The error of an exported session that cannot be used. */
export const invalidSession = (why: string, cause?: unknown): IsochronError =>
  new IsochronError('TOKEN_INVALID', `the exported session cannot be used: ${why}`, { cause });
