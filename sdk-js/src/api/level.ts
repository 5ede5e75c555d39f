import { IsochronError } from '@isochron/core/errors';
import type { KeyScope } from './scope.js';

/**
 * The number of segments of the keys in a range, if they all have one. By default a collection has its own documents
 * only, and a keyspace those of its collections, too. Throws INVALID_REQUEST for a prefix of inner collections without
 * them.
 */
export function levelIn({ prefix: own }: KeyScope, prefix: unknown, deep: unknown = own === ''): { level?: number } {
  if (typeof deep !== 'boolean') throw new IsochronError('INVALID_REQUEST', 'deep has to be true or false');
  if (deep) return {};
  if (String(prefix).includes('/'))
    throw new IsochronError('INVALID_REQUEST', 'an id has no slash: use collection("a/b"), or deep');
  return { level: own.split('/').length };
}
