import type { Plan } from '../plan/plan.js';
import { PROTOCOLS } from '../protocols/index.js';
import { runSeed } from './run-seed.js';

/** Other seeds in each run of the tests, beside those of the tests in `test/sim`; `SEED` repeats one. */
const FIRST = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
const SEEDS = process.env.SEED === undefined ? 2 : 1;

/** The plan of a seed, with nodes that serve a number of requests in a second. */
function slowed(protocol: string, seed: number, requestsPerSecond: number): Plan {
  const plan = PROTOCOLS.get(protocol)!.draw(seed);
  return { ...plan, environment: { ...plan.environment, requestsPerSecond } };
}

describe('clients at the limit of their rate', () => {
  it.each(['paris', 'gentlerain'])(
    'sessions whose requests are refused for the rate keep their guarantees under all faults (%s)',
    (protocol) => {
      for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
        const { failures } = runSeed(protocol, slowed(protocol, seed, 20 + (seed % 80)));
        expect({ SEED: seed, failures }).toEqual({ SEED: seed, failures: [] });
      }
    },
    300_000,
  );

  it('without faults, requests above the rate are served later, and nearly all transactions commit', () => {
    const { readers: _none, ...drawn } = slowed('paris', 3, 1_000_000);
    const plan: Plan = {
      ...drawn,
      faults: [],
      environment: { ...drawn.environment, requestTimeoutMs: 600_000 },
    };
    const [fast, slow] = [1_000_000, 50].map(
      (requestsPerSecond) =>
        runSeed('paris', { ...plan, environment: { ...plan.environment, requestsPerSecond } }).stats,
    );
    expect(slow!.virtualMs).toBeGreaterThan(1.2 * fast!.virtualMs);
    // The others are cancelled by their callers, or were open for too long.
    expect(slow!.committed).toBeGreaterThan(0.8 * fast!.committed);
  }, 60_000);
});
