/** Draws beyond uniform numbers. */
import type { Random } from '@isochron/core';

/** Uniform between two bounds. */
export const between = (random: Random, low: number, high: number): number => low + random.float() * (high - low);

/** A whole number, both bounds included. */
export const integer = (random: Random, low: number, high: number): number => low + random.below(high - low + 1);

/** Every order of magnitude between two positive bounds equally often. */
export const logBetween = (random: Random, low: number, high: number): number =>
  low * Math.exp(random.float() * Math.log(high / low));

/** Exponential with this mean. */
export const exponential = (random: Random, mean: number): number => -mean * Math.log(1 - random.float());

/** One of the entries, in proportion to their weights. */
export function weighted<T>(random: Random, entries: readonly (readonly [T, weight: number])[]): T {
  let at = random.float() * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [item, weight] of entries) {
    at -= weight;
    if (at < 0) return item;
  }
  return entries.at(-1)![0];
}

/** Rounds for a plan that people read. */
export const rounded = (value: number, digits = 2): number => Number(value.toFixed(digits));
