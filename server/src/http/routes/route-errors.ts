/** The error codes of routes, by what a route does. A route adds its own; the OpenAPI document lists them. */
import type { ErrorCode } from '@isochron/core';

/** Any route under `/v1` may refuse a request with these codes: the caller, the request or the node is not fit. */
export const REQUEST_ERRORS = [
  'INVALID_REQUEST',
  'VALUE_INVALID',
  'REQUEST_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'HOST_NOT_ALLOWED',
  'ORIGIN_NOT_ALLOWED',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'NOT_SUPPORTED_BY_PROTOCOL',
  'RATE_LIMITED',
  'OVERLOADED',
  'NOT_READY',
  'CONNECTION_LOST',
  'STORAGE_FAILED',
  'INTERNAL',
] as const satisfies readonly ErrorCode[];

/** Of the session token. */
export const SESSION_ERRORS = [
  'TOKEN_INVALID',
  'TOKEN_FOREIGN',
  'SESSION_GAP',
  'SESSION_DEFERRED',
] as const satisfies readonly ErrorCode[];

/** Of a read at a snapshot. Access rules make such reads, too. */
export const SNAPSHOT_ERRORS = [
  'KEYSPACE_UNKNOWN',
  'KEY_INVALID',
  'TOO_MANY_KEYS',
  'TIMESTAMP_IN_FUTURE',
  'SNAPSHOT_TOO_OLD',
  'SNAPSHOT_UNAVAILABLE',
  'REPLICA_UNREACHABLE',
] as const satisfies readonly ErrorCode[];

/** Of a read in a session. */
export const READ_ERRORS = [...SESSION_ERRORS, ...SNAPSHOT_ERRORS] as const;

/** Of the outcome of a transaction. */
export const OUTCOME_ERRORS = [
  'OUTCOME_PENDING',
  'OUTCOME_UNKNOWN',
  'OUTCOME_FORGOTTEN',
  'OUTCOME_LOST',
  'REPLICA_UNREACHABLE',
] as const satisfies readonly ErrorCode[];

/** Of a commit. */
export const WRITE_ERRORS = [
  ...READ_ERRORS,
  ...OUTCOME_ERRORS,
  'VALUE_TOO_LARGE',
  'UPDATE_INVALID',
  'TX_ID_REUSED',
  'ATTEMPT_MISMATCH',
  'TRANSACTION_ABORTED',
  'TRANSACTION_EXPIRED',
  'TRANSACTION_FINISHED',
  'CLOCK_DRIFT',
  'STORAGE_FULL',
] as const satisfies readonly ErrorCode[];

/** Of every request in an interactive transaction; what the request does adds its codes. */
export const OPEN_TRANSACTION_ERRORS = [
  'TRANSACTION_UNKNOWN',
  'TRANSACTION_EXPIRED',
  'TRANSACTION_FINISHED',
  'TIMESTAMP_IN_FUTURE',
] as const satisfies readonly ErrorCode[];
