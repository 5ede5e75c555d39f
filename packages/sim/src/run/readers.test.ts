import { Random } from '@isochron/core';
import { drawFollowers, drawRetention } from '../plan/draw-readers.js';
import { keysOf } from '../plan/keys.js';
import type { Plan } from '../plan/plan.js';
import { PROTOCOLS } from '../protocols/index.js';
import { runSeed } from './run-seed.js';

/** Other seeds in each run of the tests, beside those of the tests in `test/sim`; `SEED` repeats one. */
const FIRST = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
const SEEDS = process.env.SEED === undefined ? 2 : 1;
const SPAN_MS = 5_000;

const paris = PROTOCOLS.get('paris')!;

/** A plan of the seed that has readers. */
function planWithReaders(seed: number): Plan {
  const plan = paris.draw(seed);
  const random = new Random(seed);
  const readers = drawFollowers(random, keysOf(plan), SPAN_MS);
  return { ...plan, settings: { ...plan.settings, ...drawRetention(random) }, readers };
}

describe('readers of the change feed', () => {
  it('readers that go from node to node get every transaction once, whole and in order, under all faults (CF1)', () => {
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      const { failures } = runSeed('paris', planWithReaders(seed));
      expect({ SEED: seed, failures }).toEqual({ SEED: seed, failures: [] });
    }
  }, 300_000);

  it('a reader with small pages and long pauses needs longer than others, and gets everything in the end (seed 837196204)', () => {
    expect(runSeed('paris', planWithReaders(837_196_204)).failures).toEqual([]);
  });

  it('a part of the plans of PaRiS has readers, of several scopes, that stop and fall below the retention', () => {
    const plans = Array.from({ length: 200 }, (_, seed) => paris.draw(seed)).filter(({ readers }) => readers);
    expect(plans.length).toBeGreaterThan(25);
    expect(plans.length).toBeLessThan(75);
    const readers = plans.flatMap((plan) => plan.readers!);
    const some = (holds: (reader: (typeof readers)[number]) => boolean) => readers.filter(holds).length;
    expect(some(({ prefix }) => prefix === '')).toBeGreaterThan(10);
    expect(some(({ prefix }) => prefix !== '')).toBeGreaterThan(10);
    expect(some(({ stops }) => stops.length > 0)).toBeGreaterThan(10);
    expect(plans.some(({ settings }) => settings.changeRetentionMs! < 1_000)).toBe(true);
  });

  it('plans of protocols without a feed have no readers', () => {
    const others = [...PROTOCOLS.values()].filter(({ name }) => name !== 'paris');
    for (const protocol of others)
      for (let seed = 0; seed < 10; seed++) expect(protocol.draw(seed).readers).toBeUndefined();
  });

  it('a plan without readers runs as it did, and one with readers is the same every time', () => {
    const plan = planWithReaders(1);
    const { readers: _none, ...without } = plan;
    expect(runSeed('paris', without).ok).toBe(true);
    const [a, b] = [0, 1].map(() => runSeed('paris', plan).stats);
    expect(a).toEqual(b);
  });
});
