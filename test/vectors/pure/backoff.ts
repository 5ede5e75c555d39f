/** Pauses from seeds. */

import { Random } from '@isochron/core';
import { fullJitterMs } from '@isochron/core/backoff';

const SEEDS = [0, 1, 2, 42, 2 ** 32 - 1, 2 ** 32, 2 ** 52 + 12345, 2 ** 53 - 1];
const SHAPES = [
  { baseMs: 50, capMs: 2_000 },
  { baseMs: 100, capMs: 10_000 },
  { baseMs: 0.5, capMs: 1e15 },
  { baseMs: 0, capMs: 1_000 },
];
const ATTEMPTS = Array.from({ length: 40 }, (_, attempt) => attempt);

export function backoff(): object {
  return {
    random: SEEDS.map((seed) => ({ seed, uint32: uint32(seed), float: floats(seed) })),
    schedules: SEEDS.flatMap((seed) => SHAPES.map((shape) => schedule(seed, shape))),
  };
}

function uint32(seed: number): number[] {
  const random = new Random(seed);
  return Array.from({ length: 20 }, () => random.uint32());
}

function floats(seed: number): number[] {
  const random = new Random(seed);
  return Array.from({ length: 20 }, () => random.float());
}

/** The pause of each attempt from 0 on, drawn one after the other. */
function schedule(seed: number, { baseMs, capMs }: (typeof SHAPES)[number]): object {
  const random = new Random(seed);
  const pausesMs = ATTEMPTS.map((attempt) => fullJitterMs(() => random.float(), attempt, baseMs, capMs));
  return { seed, baseMs, capMs, pausesMs };
}
