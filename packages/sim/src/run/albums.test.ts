import { Topology } from '@isochron/core';
import { Streams } from '../engine/streams.js';
import { drawSomeAlbums } from '../plan/draw-albums.js';
import type { Plan } from '../plan/plan.js';
import { PROTOCOLS } from '../protocols/index.js';
import { runSeed } from './run-seed.js';

/** Other seeds in each run of the tests; `SEED` repeats one. */
const FIRST = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
const SEEDS = process.env.SEED === undefined ? 6 : 1;

const paris = PROTOCOLS.get('paris')!;

/** A plan of the seed that has albums. */
function planWithAlbums(seed: number): Plan {
  const plan = paris.draw(seed);
  return { ...plan, albums: drawSomeAlbums(new Streams(seed).of('albums'), new Topology(plan.cluster)) };
}

describe('albums under access rules', () => {
  it('no principal is shown a photo that was added after its removal, in any region, under all faults (AR1)', () => {
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      const { failures } = runSeed('paris', planWithAlbums(seed));
      expect({ SEED: seed, failures }).toEqual({ SEED: seed, failures: [] });
    }
  }, 300_000);

  it('a part of the plans of PaRiS has albums, with every kind of step', () => {
    const plans = Array.from({ length: 300 }, (_, seed) => paris.draw(seed)).filter(({ albums }) => albums);
    expect(plans.length).toBeGreaterThan(12);
    expect(plans.length).toBeLessThan(60);
    const steps = plans.flatMap((plan) => plan.albums!.sessions.flatMap((session) => session.steps));
    const kinds = ['add', 'create', 'follow', 'get', 'invite', 'list', 'live', 'move', 'remove', 'take'];
    expect([...new Set(steps.map(({ f }) => f))].sort()).toEqual(kinds);
  });

  it('plans of protocols without stable snapshots have no albums', () => {
    const others = [...PROTOCOLS.values()].filter(({ name }) => name !== 'paris');
    for (const protocol of others)
      for (let seed = 0; seed < 20; seed++) expect(protocol.draw(seed).albums).toBeUndefined();
  });
});
