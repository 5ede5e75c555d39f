/** The client's errors for the error frames of nodes. */

import { serverError } from '@isochron/client/errors';
import { parseFrame } from '@isochron/client/link/frames';
import { type ErrorCode, HTTP_STATUS } from '@isochron/core/error-codes';
import { IsochronError } from '@isochron/core/errors';
import { ERROR_CODES } from '@isochron/core/retryable-codes';

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

/** Codes that do not exist: of a newer node, in another spelling, and names that every object of JavaScript has. */
const UNKNOWN = ['BRAND_NEW', '', 'internal', 'INTERNAL ', 'toString', '__proto__', 'constructor', 'INTERNAL\u0301'];

/** Values that are not error frames. */
const DAMAGED = [
  { type: 'error', detail: 'd', retryable: true },
  { type: 'error', code: 1, detail: 'd', retryable: true },
  { type: 'error', code: 'INTERNAL', retryable: true },
  { type: 'error', code: 'INTERNAL', detail: null, retryable: true },
  { type: 'error', id: -1, code: 'INTERNAL', detail: 'd', retryable: true },
  { type: 'error', id: 1.5, code: 'INTERNAL', detail: 'd', retryable: true },
  { type: 'error', id: '1', code: 'INTERNAL', detail: 'd', retryable: true },
];

/** An absent `retryable`, or any value but true, means no. */
const RETRYABLE: readonly unknown[] = [true, false, undefined, null, 1, 'true'];

export function errors(): object {
  return {
    /** The default of each code, and its HTTP status. */
    codes: CODES.map((code) => ({ code, status: HTTP_STATUS[code], retryable: ERROR_CODES[code] })),
    frames: [
      ...CODES.flatMap((code) => [true, false].map((retryable) => frameOf({ code, retryable }))),
      ...UNKNOWN.flatMap((code) => [true, false].map((retryable) => frameOf({ code, retryable }))),
      ...RETRYABLE.map((retryable) => frameOf({ code: 'OVERLOADED', retryable })),
      ...[undefined, null, 0, 7].map((id) => frameOf({ id, code: 'INTERNAL', retryable: true })),
      ...DAMAGED.map(mapped),
    ],
  };
}

const frameOf = (fields: object): object => mapped({ type: 'error', detail: 'what happened', ...fields });

/** `error` is the error that the caller of the request receives; `refused` the client's error for a damaged frame. */
function mapped(frame: object): object {
  try {
    const parsed = parseFrame(JSON.parse(JSON.stringify(frame)));
    if (parsed.type !== 'error') throw new TypeError('an error frame is one');
    const { code, message, retryable } = serverError(parsed);
    return { frame, ...(parsed.id == null ? {} : { id: parsed.id }), error: { code, message, retryable } };
  } catch (error) {
    if (!(error instanceof IsochronError)) throw error;
    return { frame, refused: { code: error.code, retryable: error.retryable } };
  }
}
