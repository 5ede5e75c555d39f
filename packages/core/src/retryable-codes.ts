import { type ErrorCode, HTTP_STATUS } from './error-codes.js';
import { RETRYABLE } from './errors.js';

/** All codes, and whether the same request may succeed later. */
export const ERROR_CODES = Object.fromEntries(
  Object.keys(HTTP_STATUS).map((code) => [code, RETRYABLE.has(code as ErrorCode)]),
) as Readonly<Record<ErrorCode, boolean>>;
