import { isUtf8 } from 'node:buffer';
import { IsochronError } from '@isochron/core';
import type { FastifyRequest } from 'fastify';

/**
 * Parses a JSON body. Unlike Fastify's own parser it refuses text that is not UTF-8 instead of repairing it, and takes fields
 * named `__proto__` as data: documents may have them, and nothing here copies fields into other objects.
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
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    done(new IsochronError('INVALID_REQUEST', 'The body is not JSON.', { cause }));
    return;
  }
  done(null, parsed);
}
