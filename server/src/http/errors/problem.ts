/** Errors as `application/problem+json` (RFC 9457). */
import { ERROR_TITLES, type ErrorCode, HTTP_STATUS, IsochronError } from '@isochron/core';
import { asIsochronError, UndecidedError } from '@isochron/sessions';
import type { FastifyBaseLogger, FastifyReply } from 'fastify';
import { NOT_STORED } from '../caching/read-headers.js';
import { errorPage } from './error-pages.js';

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** The code of each of Fastify's own errors. */
const FASTIFY_CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_VALIDATION: 'INVALID_REQUEST',
  FST_ERR_CTP_BODY_TOO_LARGE: 'REQUEST_TOO_LARGE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'INVALID_REQUEST',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'INVALID_REQUEST',
  FST_ERR_BAD_URL: 'INVALID_REQUEST',
  // Fastify's error for QUERY, also where no route has that method.
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: 'INVALID_REQUEST',
  FST_ERR_NOT_FOUND: 'ROUTE_NOT_FOUND',
};

/** The code of an error of Fastify's or a plugin's; undefined for any other value. */
function codeOf(thrown: unknown): ErrorCode | undefined {
  if (!(thrown instanceof Error) || thrown instanceof IsochronError) return undefined;
  const { code, statusCode } = thrown as { readonly code?: unknown; readonly statusCode?: unknown };
  const known = FASTIFY_CODES[String(code)];
  if (known !== undefined || typeof statusCode !== 'number' || statusCode < 400 || statusCode > 499) return known;
  // Plugins refuse paths that lead outside their folder.
  return statusCode === 403 || statusCode === 404 ? 'ROUTE_NOT_FOUND' : 'INVALID_REQUEST';
}

/** The project's error for any thrown value, also of Fastify. */
function errorOf(thrown: unknown): IsochronError {
  const code = codeOf(thrown);
  return code === undefined
    ? asIsochronError(thrown)
    : new IsochronError(code, thrown instanceof Error ? thrown.message : code, { cause: thrown });
}

/** The problem document of an error. */
export function problemText(error: IsochronError): string {
  const { code, retryable, message } = error;
  return JSON.stringify({
    type: errorPage(code),
    title: ERROR_TITLES[code],
    status: HTTP_STATUS[code],
    code,
    detail: message,
    retryable,
    ...(error instanceof UndecidedError ? { transaction: error.txId } : {}),
  });
}

/** Answers with the error's problem document. Faults of the server's own are logged. */
export function sendProblem(reply: FastifyReply, thrown: unknown, log: FastifyBaseLogger): void {
  const error = errorOf(thrown);
  if (error.code === 'INTERNAL' || error.code === 'STORAGE_FAILED')
    log.error({ err: error.cause ?? error }, 'request failed');
  if (error.code === 'SESSION_GAP') reply.header('isochron-session-gap', 'true');
  if (error.code === 'UNAUTHENTICATED') reply.header('www-authenticate', 'Bearer');
  if (error.retryAfterMs !== undefined) reply.header('retry-after', Math.ceil(error.retryAfterMs / 1000));
  else if (HTTP_STATUS[error.code] === 503) reply.header('retry-after', '1');
  // The next request goes better over a new connection, which a load balancer may send to another node.
  if (error.code === 'NOT_READY') reply.header('connection', 'close');
  // Caches would keep some statuses, 404 among them.
  reply.header('cache-control', NOT_STORED).header('content-type', PROBLEM_TYPE);
  reply.code(HTTP_STATUS[error.code]).send(problemText(error));
}
