import { isUtf8 } from 'node:buffer';
import { IsochronError, MAX_DOCUMENT_DEPTH, readDocument } from '@isochron/core';
import type { FastifyRequest } from 'fastify';

/** A body has this many levels more than the documents in it: `{"writes":[{"value":…}]}`. */
const BODY_LEVELS = 3;

/**
 * Parses a JSON body. Unlike Fastify's own parser it refuses text that is not UTF-8 instead of repairing it, and takes
 * fields named `__proto__` as data: documents may have them, and no code here copies fields into other objects. The
 * body is I-JSON as its documents are (F8): what is parsed has all of them as they were sent.
 */
export function jsonBodyParser(
  _request: FastifyRequest,
  body: Buffer,
  done: (error: Error | null, body?: unknown) => void,
): void {
  if (body.length === 0) {
    done(null, undefined);
    return;
  }
  if (!isUtf8(body)) {
    done(new IsochronError('INVALID_REQUEST', 'The body is not UTF-8.'));
    return;
  }
  try {
    done(null, readDocument(body.toString('utf8'), 'body', MAX_DOCUMENT_DEPTH + BODY_LEVELS).value);
  } catch (error) {
    done(refusalOf(error as Error));
  }
}

const refusalOf = (error: Error): Error =>
  error.cause === undefined
    ? error
    : new IsochronError('INVALID_REQUEST', 'The body is not JSON.', { cause: error.cause });
