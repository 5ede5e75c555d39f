/**
 * Bounds of the size of one answer: the values of a thousand keys may be a gigabyte, and no client should be able to
 * request that twice.
 */
import { IsochronError, type QualifiedKey, type Timestamp, type Value, type Version } from '@isochron/core';

/** An answer may be this many times larger than a request. */
const FACTOR = 4;

/** Most bytes of values in one answer. At least one value of any size fits. */
export const maxAnswerBytes = ({
  maxRequestBytes,
  maxValueBytes,
}: {
  maxRequestBytes: number;
  maxValueBytes: number;
}) => Math.max(FACTOR * maxRequestBytes, maxValueBytes);

const sizeOf = (value: Value | null | undefined): number => value?.length ?? 0;

/**
 * The approximate bytes of an answer's values.
 * @throws IsochronError `TOO_MANY_KEYS` above the limit
 */
export function answerBytes(versions: readonly (Version | null)[], limit: number): number {
  let bytes = 0;
  for (const version of versions) bytes += sizeOf(version?.value);
  if (bytes > limit) {
    const detail = `The values of these ${versions.length} keys are more than ${limit} bytes in all. Read fewer at a time, in the same snapshot with "at".`;
    throw new IsochronError('TOO_MANY_KEYS', detail);
  }
  return bytes;
}

/**
 * A page of a listing, cut at the limit of bytes: the rest is on the next page.
 * @param known documents at or below it go without their values
 */
export function cutPage<E extends { readonly key: QualifiedKey; readonly version: Version }>(
  entries: readonly E[],
  next: QualifiedKey | null,
  limit: number,
  known: Timestamp = 0,
): { readonly entries: readonly E[]; readonly next: QualifiedKey | null; readonly bytes: number } {
  let bytes = 0;
  for (let i = 0; i < entries.length; i++) {
    const { ts, value } = entries[i]!.version;
    const size = ts <= known ? 0 : sizeOf(value);
    if (i > 0 && bytes + size > limit) return { entries: entries.slice(0, i), next: entries[i]!.key, bytes };
    bytes += size;
  }
  return { entries, next, bytes };
}
