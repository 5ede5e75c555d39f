import { Random } from '@isochron/core';
import { type Plan, PROTOCOLS } from '@isochron/sim';
import { drawFollowers, drawRetention } from '@isochron/sim/plan/draw-readers';
import { keysOf } from '@isochron/sim/plan/keys';
import { expectPassed, freshSeeds, simulatePlans } from './command.js';

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
  it('readers that go from node to node get every transaction once, whole and in order, under all faults (CF1)', async () => {
    await expectPassed(freshSeeds().map(planWithReaders));
  }, 300_000);

  it('a reader with small pages and long pauses needs longer than others, and gets everything in the end (seed 837196204)', async () => {
    await expectPassed([planWithReaders(837_196_204)]);
  }, 300_000);

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

  it('a plan without readers runs as it did, and one with readers is the same every time', async () => {
    const plan = planWithReaders(1);
    const { readers: _none, ...without } = plan;
    await expectPassed([without]);
    const [a, b] = await simulatePlans([plan, plan]);
    expect(a).toEqual(b);
  }, 300_000);
});
