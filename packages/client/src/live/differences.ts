/** What has changed from one result of a query to a later one. */
import type { ResultDocument } from './results.js';

/**
 * A change of a result. Removing the documents at every `oldIndex`, from the last to the first, and then inserting
 * those with a `newIndex`, from the first to the last, makes the new result of the old one.
 */
export type ResultChange<T = unknown> = { readonly key: string } & (
  | { readonly type: 'added'; readonly value: T; readonly newIndex: number }
  /** The document, or whether it is pending, or its place in the order. */
  | { readonly type: 'changed'; readonly value: T; readonly oldIndex: number; readonly newIndex: number }
  /** `value` is the last one that the result had. */
  | { readonly type: 'removed'; readonly value: T; readonly oldIndex: number }
);

/** The changes between two results: the removed documents first, then the others in the order of the new result. */
export function differencesOf<T>(
  before: readonly ResultDocument<T>[],
  after: readonly ResultDocument<T>[],
): readonly ResultChange<T>[] {
  const { start, oldEnd, newEnd } = differingRange(before, after);
  const old = new Map<string, number>();
  for (let i = start; i < oldEnd; i++) old.set(before[i]!.key, i);
  const placed: ResultChange<T>[] = [];
  for (let newIndex = start; newIndex < newEnd; newIndex++) {
    const document = after[newIndex]!;
    const { key, value } = document;
    const oldIndex = old.get(key);
    old.delete(key);
    if (oldIndex === undefined) placed.push({ type: 'added', key, value, newIndex });
    else if (before[oldIndex] !== document) placed.push({ type: 'changed', key, value, oldIndex, newIndex });
  }
  const removed = [...old].map(([key, oldIndex]): ResultChange<T> => {
    return { type: 'removed', key, value: before[oldIndex]!.value, oldIndex };
  });
  return [...removed, ...placed];
}

/** Where two results differ: between the documents that they have in common at the begin and at the end. */
function differingRange<T>(before: readonly T[], after: readonly T[]) {
  let start = 0;
  let [oldEnd, newEnd] = [before.length, after.length];
  while (start < Math.min(oldEnd, newEnd) && before[start] === after[start]) start++;
  while (oldEnd > start && newEnd > start && before[oldEnd - 1] === after[newEnd - 1]) {
    oldEnd--;
    newEnd--;
  }
  return { start, oldEnd, newEnd };
}
