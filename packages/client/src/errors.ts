import { type ErrorCode, IsochronError, isErrorCode } from '@isochron/core/errors';
import type { Timestamp, TxId } from '@isochron/core/ids';

/**
 * The commit may or may not have happened: its answer was lost and no node could be asked before the deadline. `code` is
 * `OUTCOME_UNKNOWN`. The client keeps asking in the background, and holds the session's later commits until it knows.
 *
 * `client.transactionStatus(error)` asks what became of it, now or later; from another client, device or process, ask with
 * `{ txId, birth }`, which is plain JSON to keep.
 */
export class OutcomeUnknownError extends IsochronError {
  constructor(
    /** Id of the transaction, for `client.transactionStatus` and `GET /v1/transactions/:id`. */
    readonly txId: TxId,
    /** Stable time when it was sent: distinguishes a transaction too old to be known from one that never was. */
    readonly birth: Timestamp,
    reason: string,
    cause?: unknown,
  ) {
    super('OUTCOME_UNKNOWN', `the outcome of transaction ${txId} is not known: ${reason}`, { cause });
  }
}

/**
 * A write waited for its turn behind one whose outcome is not known, for as long as a request may take. Nothing of it
 * was sent. `code` is `SESSION_BLOCKED`. The session's writes happen one after the other, so none of them can overtake
 * the one that blocks: its outcome becomes known when the node that took part in it answers again. Repeat the write
 * then, or give up the order with `client.detach()`.
 */
export class SessionBlockedError extends IsochronError {
  constructor(
    /** Id of the transaction that blocks, for `client.transactionStatus`. */
    readonly blockedBy: TxId,
    /** Stable time when that one was sent. */
    readonly birth: Timestamp,
  ) {
    super('SESSION_BLOCKED', `the write was not sent: the outcome of transaction ${blockedBy} before it is not known`);
  }
}

/**
 * Whether something thrown is an Isochron error, and, where a code is given, this one.
 *
 * @param error anything that was caught
 * @param code a stable code such as `SNAPSHOT_TOO_OLD`
 */
export const isIsochronError = (error: unknown, code?: ErrorCode): error is IsochronError =>
  error instanceof IsochronError && (code === undefined || error.code === code);

/** The error of a server's error frame. A code from a newer server becomes INTERNAL, with the code in the message. */
export function serverError(frame: { code: string; detail: string; retryable: boolean }): IsochronError {
  const { code, detail, retryable } = frame;
  return isErrorCode(code)
    ? new IsochronError(code, detail, { retryable })
    : new IsochronError('INTERNAL', `${code}: ${detail}`, { retryable });
}

export const clientClosed = (): IsochronError => new IsochronError('CLIENT_CLOSED', 'the client was closed');

/** A server sent something that is not a frame, or not one that fits here. */
export const malformed = (what: string): IsochronError =>
  new IsochronError('FRAME_INVALID', `the server sent ${what}`, { retryable: true });

/** What a caller sees of anything thrown: errors of ours as they are, others wrapped. */
export const toIsochronError = (error: unknown): IsochronError =>
  error instanceof IsochronError ? error : new IsochronError('INTERNAL', String(error), { cause: error });

/** The error of an exported session that cannot be used. */
export const invalidSession = (why: string, cause?: unknown): IsochronError =>
  new IsochronError('TOKEN_INVALID', `the exported session cannot be used: ${why}`, { cause });
