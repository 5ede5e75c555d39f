/**
 * Every error that a user, operator or SDK can meet: a stable code, and whether repeating the same request can help.
 * `ERRORS.md` documents the same table; a test holds the two together. What only servers need of a code is beside it:
 * its title and its HTTP status in `error-titles.ts`, advice in `error-advice.ts`.
 */
export const ERROR_CODES = {
  INVALID_REQUEST: false,
  KEYSPACE_UNKNOWN: false,
  KEY_NOT_FOUND: false,
  KEY_INVALID: false,
  VALUE_INVALID: false,
  VALUE_TOO_LARGE: false,
  TOO_MANY_KEYS: false,
  REQUEST_TOO_LARGE: false,
  UNSUPPORTED_MEDIA_TYPE: false,
  ROUTE_NOT_FOUND: false,
  METHOD_NOT_ALLOWED: false,
  CONDITIONAL_WRITE_UNSUPPORTED: false,
  HOST_NOT_ALLOWED: false,
  ORIGIN_NOT_ALLOWED: false,
  UNAUTHENTICATED: false,
  TOKEN_INVALID: false,
  TOKEN_FOREIGN: false,
  TIMESTAMP_IN_FUTURE: false,
  CURSOR_INVALID: false,
  TRANSACTION_UNKNOWN: false,
  TRANSACTION_EXPIRED: false,
  TRANSACTION_FINISHED: false,
  TRANSACTION_ABORTED: false,
  TX_ID_REUSED: false,
  ATTEMPT_MISMATCH: false,
  OUTCOME_PENDING: true,
  OUTCOME_UNKNOWN: true,
  OUTCOME_FORGOTTEN: false,
  SNAPSHOT_TOO_OLD: false,
  SNAPSHOT_UNAVAILABLE: true,
  SESSION_GAP: true,
  SESSION_BLOCKED: true,
  REPLICA_UNREACHABLE: true,
  CLOCK_DRIFT: true,
  CLOCK_BEHIND_DATA: true,
  OVERLOADED: true,
  NOT_READY: true,
  STABLE_TIMEOUT: true,
  NOT_SUPPORTED_BY_PROTOCOL: false,
  FRAME_INVALID: false,
  FRAME_TYPE_UNKNOWN: false,
  REQUEST_ID_REUSED: false,
  CREDITS_EXHAUSTED: true,
  CONNECTION_LOST: true,
  CLIENT_CLOSED: false,
  CONFIG_INVALID: false,
  PLACEMENT_MISMATCH: false,
  PEER_REFUSED: false,
  PEER_VERSION_MISMATCH: false,
  PEER_CONFIG_MISMATCH: false,
  REBUILD_NEEDED: true,
  STORAGE_FULL: true,
  STORAGE_FAILED: true,
  INTERNAL: true,
} as const satisfies Record<string, boolean>;

/** A stable error code. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** Whether a string from outside is one of our codes. */
export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);

/** The one error class. `message` says what happened and what to do; `code` is what programs match on. */
export class IsochronError extends Error {
  override readonly name = 'IsochronError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { cause?: unknown /** Overrides the code's own answer. */; retryable?: boolean },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.#retryable = options?.retryable;
  }

  readonly #retryable: boolean | undefined;

  /** Whether the same request may succeed later. For a commit: repeat it under the same transaction id. */
  get retryable(): boolean {
    return this.#retryable ?? ERROR_CODES[this.code];
  }
}
