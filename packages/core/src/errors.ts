/**
 * Every error that a user, operator or SDK can meet: a stable code, its HTTP status, whether repeating the same
 * request can help. `ERRORS.md` documents the same table; a test holds the two together. Titles are in `error-titles.ts`, advice in
 * `error-advice.ts`.
 */
export const ERROR_CODES = {
  INVALID_REQUEST: { status: 400, retryable: false },
  KEYSPACE_UNKNOWN: { status: 404, retryable: false },
  KEY_NOT_FOUND: { status: 404, retryable: false },
  KEY_INVALID: { status: 400, retryable: false },
  VALUE_INVALID: { status: 400, retryable: false },
  VALUE_TOO_LARGE: { status: 413, retryable: false },
  TOO_MANY_KEYS: { status: 413, retryable: false },
  REQUEST_TOO_LARGE: { status: 413, retryable: false },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retryable: false },
  ROUTE_NOT_FOUND: { status: 404, retryable: false },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false },
  CONDITIONAL_WRITE_UNSUPPORTED: { status: 400, retryable: false },
  HOST_NOT_ALLOWED: { status: 403, retryable: false },
  ORIGIN_NOT_ALLOWED: { status: 403, retryable: false },
  UNAUTHENTICATED: { status: 401, retryable: false },
  TOKEN_INVALID: { status: 400, retryable: false },
  TOKEN_FOREIGN: { status: 400, retryable: false },
  TIMESTAMP_IN_FUTURE: { status: 400, retryable: false },
  CURSOR_INVALID: { status: 400, retryable: false },
  TRANSACTION_UNKNOWN: { status: 404, retryable: false },
  TRANSACTION_EXPIRED: { status: 410, retryable: false },
  TRANSACTION_FINISHED: { status: 409, retryable: false },
  TRANSACTION_ABORTED: { status: 409, retryable: false },
  TX_ID_REUSED: { status: 409, retryable: false },
  ATTEMPT_MISMATCH: { status: 409, retryable: false },
  OUTCOME_PENDING: { status: 503, retryable: true },
  OUTCOME_UNKNOWN: { status: 504, retryable: true },
  OUTCOME_FORGOTTEN: { status: 410, retryable: false },
  SNAPSHOT_TOO_OLD: { status: 410, retryable: false },
  SNAPSHOT_UNAVAILABLE: { status: 503, retryable: true },
  SESSION_GAP: { status: 409, retryable: true },
  SESSION_BLOCKED: { status: 503, retryable: true },
  REPLICA_UNREACHABLE: { status: 503, retryable: true },
  CLOCK_DRIFT: { status: 503, retryable: true },
  CLOCK_BEHIND_DATA: { status: 500, retryable: true },
  OVERLOADED: { status: 503, retryable: true },
  NOT_READY: { status: 503, retryable: true },
  STABLE_TIMEOUT: { status: 504, retryable: true },
  NOT_SUPPORTED_BY_PROTOCOL: { status: 501, retryable: false },
  FRAME_INVALID: { status: 400, retryable: false },
  FRAME_TYPE_UNKNOWN: { status: 400, retryable: false },
  REQUEST_ID_REUSED: { status: 400, retryable: false },
  CREDITS_EXHAUSTED: { status: 429, retryable: true },
  CONNECTION_LOST: { status: 503, retryable: true },
  CLIENT_CLOSED: { status: 499, retryable: false },
  CONFIG_INVALID: { status: 500, retryable: false },
  PLACEMENT_MISMATCH: { status: 500, retryable: false },
  PEER_REFUSED: { status: 403, retryable: false },
  PEER_VERSION_MISMATCH: { status: 403, retryable: false },
  PEER_CONFIG_MISMATCH: { status: 403, retryable: false },
  REBUILD_NEEDED: { status: 500, retryable: true },
  STORAGE_FULL: { status: 507, retryable: true },
  STORAGE_FAILED: { status: 500, retryable: true },
  INTERNAL: { status: 500, retryable: true },
} as const satisfies Record<string, { status: number; retryable: boolean }>;

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
    return this.#retryable ?? ERROR_CODES[this.code].retryable;
  }

  /** The HTTP status that stands for the code. */
  get status(): number {
    return ERROR_CODES[this.code].status;
  }
}
