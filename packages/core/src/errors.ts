/**
 * Every error that a user, operator or SDK can meet: a stable code, its HTTP status, whether repeating the same
 * request can help, and a title. `ERRORS.md` documents the same table; a test holds the two together.
 */
export const ERROR_CODES = {
  INVALID_REQUEST: { status: 400, retryable: false, title: 'The request is not well formed' },
  KEYSPACE_UNKNOWN: { status: 404, retryable: false, title: 'No such keyspace' },
  KEY_NOT_FOUND: { status: 404, retryable: false, title: 'The key has no value in this snapshot' },
  KEY_INVALID: { status: 400, retryable: false, title: 'The key is empty, too long or not UTF-8' },
  VALUE_INVALID: { status: 400, retryable: false, title: 'The value is not a JSON document' },
  VALUE_TOO_LARGE: { status: 413, retryable: false, title: 'The value is larger than this cluster accepts' },
  TOO_MANY_KEYS: { status: 413, retryable: false, title: 'The request names more keys than this cluster accepts' },
  REQUEST_TOO_LARGE: { status: 413, retryable: false, title: 'The request is larger than this cluster accepts' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retryable: false, title: 'The content type is not supported' },
  ROUTE_NOT_FOUND: { status: 404, retryable: false, title: 'No such route' },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false, title: 'The route does not have this method' },
  CONDITIONAL_WRITE_UNSUPPORTED: {
    status: 400,
    retryable: false,
    title: 'Conditional writes cannot be honoured across regions',
  },
  UNAUTHENTICATED: { status: 401, retryable: false, title: 'The credentials are missing or wrong' },
  TOKEN_INVALID: { status: 400, retryable: false, title: 'The session token is damaged or forged' },
  TOKEN_FOREIGN: { status: 400, retryable: false, title: 'The session token belongs to another cluster' },
  TIMESTAMP_IN_FUTURE: { status: 400, retryable: false, title: 'The timestamp lies in the future' },
  CURSOR_INVALID: { status: 400, retryable: false, title: 'The listing cursor is damaged' },
  TRANSACTION_UNKNOWN: { status: 404, retryable: false, title: 'No such open transaction' },
  TRANSACTION_EXPIRED: { status: 410, retryable: false, title: 'The transaction was open for too long' },
  TRANSACTION_FINISHED: { status: 409, retryable: false, title: 'The transaction has already ended' },
  TRANSACTION_ABORTED: { status: 409, retryable: false, title: 'The transaction was aborted' },
  TX_ID_REUSED: { status: 409, retryable: false, title: 'The transaction id was used for other writes' },
  ATTEMPT_MISMATCH: { status: 409, retryable: false, title: 'The transaction id is known with other cohorts' },
  OUTCOME_PENDING: { status: 503, retryable: true, title: 'The outcome of the commit is not decided yet' },
  OUTCOME_UNKNOWN: { status: 504, retryable: true, title: 'The outcome of the commit is not known' },
  OUTCOME_FORGOTTEN: { status: 410, retryable: false, title: 'The transaction is too old for its outcome to be known' },
  SNAPSHOT_TOO_OLD: { status: 410, retryable: false, title: 'The snapshot has been garbage collected' },
  SNAPSHOT_UNAVAILABLE: { status: 503, retryable: true, title: 'The snapshot is not installed here yet' },
  SESSION_GAP: { status: 409, retryable: true, title: "The session's own writes are not visible here yet" },
  REPLICA_UNREACHABLE: { status: 503, retryable: true, title: 'No replica of a partition answered' },
  CLOCK_DRIFT: { status: 503, retryable: true, title: 'The clock of a node is too far off' },
  OVERLOADED: { status: 503, retryable: true, title: 'The node is overloaded' },
  NOT_READY: { status: 503, retryable: true, title: 'The node is starting or shutting down' },
  STABLE_TIMEOUT: { status: 504, retryable: true, title: 'The timestamp did not become stable in time' },
  NOT_SUPPORTED_BY_PROTOCOL: { status: 501, retryable: false, title: 'The chosen protocol cannot do this' },
  FRAME_INVALID: { status: 400, retryable: false, title: 'The frame cannot be decoded' },
  FRAME_TYPE_UNKNOWN: { status: 400, retryable: false, title: 'The frame has an unknown type' },
  REQUEST_ID_REUSED: { status: 400, retryable: false, title: 'The request id was used before on this connection' },
  CREDITS_EXHAUSTED: { status: 429, retryable: true, title: 'More requests in flight than credits were granted' },
  CONNECTION_LOST: { status: 503, retryable: true, title: 'The connection to the cluster is lost' },
  CLIENT_CLOSED: { status: 499, retryable: false, title: 'The client has been closed' },
  CONFIG_INVALID: { status: 500, retryable: false, title: 'The cluster file is not valid' },
  PLACEMENT_MISMATCH: { status: 500, retryable: false, title: 'The data on disk belongs to another placement' },
  PEER_REFUSED: { status: 403, retryable: false, title: 'The peer is not a node of this cluster' },
  PEER_VERSION_MISMATCH: { status: 403, retryable: false, title: 'The peer speaks another protocol version' },
  PEER_CONFIG_MISMATCH: { status: 403, retryable: false, title: 'The peer runs with another cluster file' },
  REBUILD_NEEDED: { status: 500, retryable: true, title: 'The node must be rebuilt from its peers' },
  STORAGE_FULL: { status: 507, retryable: true, title: 'The disk quota of a node is used up' },
  STORAGE_FAILED: { status: 500, retryable: true, title: 'The disk refused a write' },
  INTERNAL: { status: 500, retryable: true, title: 'The server met an error of its own' },
} as const satisfies Record<string, { status: number; retryable: boolean; title: string }>;

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
