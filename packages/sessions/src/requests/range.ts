import { compareKeys, type ListRange, prefixEnd } from '@isochron/core';
import { shownPart } from '../tokens/list-places.js';
import type { Rules } from './rules.js';

/**
 * The range of a listing in a keyspace. `prefix` and `start` are unqualified; empty means no restriction.
 * @throws IsochronError `KEYSPACE_UNKNOWN`, `KEY_INVALID`
 */
export function listRange(
  rules: Rules,
  keyspace: string,
  prefix: string,
  start: string,
  limit: number,
): ListRange & { end: string } {
  rules.keyspace(keyspace);
  // Right behind a key of the greatest length there is a place, and no key.
  const startsAt = shownPart(start).replace(/\0$/, '');
  for (const bound of [prefix, startsAt]) if (bound !== '') rules.qualify(keyspace, bound);
  const first = `${keyspace}/${prefix}`;
  const asked = `${keyspace}/${start}`;
  // A prefix of only the highest character has no end of its own: the keyspace's end bounds it.
  const end = prefixEnd(first) ?? `${keyspace}0`;
  // A start behind all keys of the prefix leaves none.
  if (compareKeys(asked, end) >= 0) return { start: first, end: first, limit };
  return { start: compareKeys(asked, first) > 0 ? asked : first, end, limit };
}

/** The field of a range that is of one level. */
export const levelField = (level: number | null | undefined): { level?: number } => (level == null ? {} : { level });
