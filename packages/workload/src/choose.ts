import type { Random } from '@isochron/core';

/**
 * Distinct items, each set equally likely: the first steps of a Fisher-Yates shuffle. Fewer when there are not so many.
 */
export function chooseDistinct<T>(items: readonly T[], count: number, random: Random): T[] {
  const left = [...items];
  const most = Math.min(count, left.length);
  for (let i = 0; i < most; i++) {
    const j = i + random.below(left.length - i);
    const held = left[i]!;
    left[i] = left[j]!;
    left[j] = held;
  }
  return left.slice(0, most);
}
