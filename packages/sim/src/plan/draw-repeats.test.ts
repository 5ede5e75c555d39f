import { Random, Topology } from '@isochron/core';
import { withRepeats } from './draw-repeats.js';

const topology = Topology.of({
  regions: ['p', 'q'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [{ name: 'default', partitions: 2 }],
});
const requests = Array.from({ length: 20 }, () => ({
  thinkMs: 1,
  back: null,
  region: 'p',
  node: null,
  f: 'put' as const,
  keys: ['default/a'],
}));
const http = { callers: [{ name: 'h0', region: 'p', requests }], limits: {} };

/** The share of draws with repetitions. */
function repeatingShare(outcomeRetentionMs: number): number {
  const draws = Array.from({ length: 50 }, (_, seed) =>
    withRepeats(new Random(seed), topology, http as never, { outcomeRetentionMs } as never),
  );
  const repeats = draws.filter(({ callers }) =>
    callers.some((caller) => caller.requests.some((one) => 'again' in one)),
  );
  return repeats.length / draws.length;
}

it('writes are repeated in half of the runs, and in none that keeps outcomes for less than twice a late repetition', () => {
  expect(repeatingShare(86_400_000)).toBeGreaterThan(0.2);
  expect(repeatingShare(86_400_000)).toBeLessThan(0.8);
  expect(repeatingShare(45_000)).toBe(0);
  expect(repeatingShare(128)).toBe(0);
});
