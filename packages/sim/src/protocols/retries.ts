import { ERROR_CODES, type ErrorCode } from '@isochron/core';

/** Whether the same request may succeed later. */
export const isRetryable = (code: ErrorCode): boolean => ERROR_CODES[code].retryable;
