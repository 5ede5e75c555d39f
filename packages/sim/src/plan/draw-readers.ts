/** Draws readers of the change feed, and how long logs are kept for them. */
import type { QualifiedKey, Random } from '@isochron/core';
import { integer, logBetween, rounded, weighted } from '@isochron/simulated-world/draws';
import type { Settings } from '../protocols/adapter.js';
import type { ReaderPlan } from './plan.js';

/** Undefined for runs without readers. */
export function drawReaders(
  random: Random,
  keys: readonly QualifiedKey[],
  spanMs: number,
): readonly ReaderPlan[] | undefined {
  return keys.length === 0 || !random.chance(0.25) ? undefined : drawFollowers(random, keys, spanMs);
}

/** Readers for a run that has some. */
export const drawFollowers = (random: Random, keys: readonly QualifiedKey[], spanMs: number): readonly ReaderPlan[] =>
  Array.from({ length: integer(random, 1, 3) }, (_, i) => drawReader(random, keys, spanMs, `reader${i}`));

/** Some readers ask for the documents around each write. */
export const withDocuments = (random: Random, readers: readonly ReaderPlan[]): readonly ReaderPlan[] =>
  readers.map((reader) => (random.chance(0.2) ? { ...reader, documents: true } : reader));

/** Some runs keep logs for so short a time that readers fall below it. */
export function drawRetention(random: Random): Settings {
  const ms = random.chance(0.5) ? {} : { changeRetentionMs: Math.round(logBetween(random, 200, 6_000)) };
  const bytes = random.chance(0.85) ? {} : { changeRetentionBytes: Math.round(logBetween(random, 200, 5_000)) };
  return { ...ms, ...bytes };
}

function drawReader(random: Random, keys: readonly QualifiedKey[], spanMs: number, name: string): ReaderPlan {
  return {
    name,
    prefix: drawPrefix(random, random.pick(keys)),
    beginMs: random.chance(0.5) ? 0 : Math.round(random.float() * 0.5 * spanMs),
    pauseMs: rounded(logBetween(random, 5, 300)),
    waitMs: Math.round(logBetween(random, 10, 1_000)),
    limitBytes: Math.round(logBetween(random, 50, 20_000)),
    roams: random.float(),
    compares: random.chance(0.3) ? 0 : rounded(0.3 * random.float()),
    stops: Array.from({ length: random.below(4) }, () => ({
      atMs: Math.round(random.float() * spanMs),
      forMs: Math.round(logBetween(random, 200, 8_000)),
    })),
  };
}

/** Everything, a keyspace, the keys that begin as one of them does, or one key. */
function drawPrefix(random: Random, key: QualifiedKey): string {
  const keyspace = key.slice(0, key.indexOf('/') + 1);
  return weighted(random, [
    ['', 6],
    [keyspace, 1],
    [key.slice(0, keyspace.length + 2), 2],
    [key, 1],
  ]);
}
