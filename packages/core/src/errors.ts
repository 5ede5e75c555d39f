/**
 * The errors that a user, operator or SDK can get. Their codes and the data that only servers need are in
 * `error-codes.ts`: clients load this file alone.
 */
import type { ErrorCode } from './error-codes.js';

export type { ErrorCode } from './error-codes.js';

/** Codes after which the same request may succeed later. */
export const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  'OUTCOME_PENDING',
  'OUTCOME_UNKNOWN',
  'SNAPSHOT_UNAVAILABLE',
  'SESSION_GAP',
  'SESSION_BLOCKED',
  'REPLICA_UNREACHABLE',
  'CLOCK_DRIFT',
  'CLOCK_BEHIND_DATA',
  'OVERLOADED',
  'NOT_READY',
  'STABLE_TIMEOUT',
  'CREDENTIALS_UNAVAILABLE',
  'CODE_UNAVAILABLE',
  'CREDITS_EXHAUSTED',
  'RATE_LIMITED',
  'CONNECTION_LOST',
  'OFFLINE',
  'REBUILD_NEEDED',
  'STORAGE_FULL',
  'STORAGE_FAILED',
  'INTERNAL',
] as const);

/** The one error class. `message` describes the fault and the remedy; `code` is for programs. */
export class IsochronError extends Error {
  override readonly name = 'IsochronError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: {
      cause?: unknown;
      /** Overrides the code's own answer. */
      retryable?: boolean | undefined;
      retryAfterMs?: number | undefined;
    },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.#retryable = options?.retryable;
    this.retryAfterMs = options?.retryAfterMs;
  }

  /** After how many ms, from the answer on, the node allows the same request again. Of `RATE_LIMITED`. */
  readonly retryAfterMs: number | undefined;

  readonly #retryable: boolean | undefined;

  /** Whether the same request may succeed later. For a commit: repeat it under the same transaction id. */
  get retryable(): boolean {
    return this.#retryable ?? RETRYABLE.has(this.code);
  }
}
