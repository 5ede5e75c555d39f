import { PROTOCOLS } from '../protocols/index.js';
import { runSeed } from './run-seed.js';

/** Other seeds in each run of the tests; `SEED` repeats one. */
const FIRST = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
const SEEDS = process.env.SEED === undefined ? 6 : 1;

describe('readers of the change feed', () => {
  it('readers that go from node to node get every transaction once, whole and in order, under all faults (CF1)', () => {
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      const plan = PROTOCOLS.get('paris')!.draw(seed);
      const changeRetentionMs = 300 + (seed % 7) * 500;
      const settings = seed % 2 === 0 ? plan.settings : { ...plan.settings, changeRetentionMs };
      const { failures } = runSeed('paris', { ...plan, settings, readers: 2 });
      expect({ SEED: seed, failures }).toEqual({ SEED: seed, failures: [] });
    }
  }, 300_000);
});
