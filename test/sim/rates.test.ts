import { type Plan, PROTOCOLS } from '@isochron/sim';
import type { Summary } from '@isochron/sim/cli/summary';
import { expectPassed, freshSeeds, simulatePlans } from './command.js';

/** The plan of a seed, with nodes that serve a number of requests in a second. */
function slowed(protocol: string, seed: number, requestsPerSecond: number): Plan {
  const plan = PROTOCOLS.get(protocol)!.draw(seed);
  return { ...plan, environment: { ...plan.environment, requestsPerSecond } };
}

describe('clients at the limit of their rate', () => {
  it.each(['paris', 'gentlerain'])(
    'sessions whose requests are refused for the rate keep their guarantees under all faults (%s)',
    async (protocol) => {
      await expectPassed(freshSeeds().map((seed) => slowed(protocol, seed, 20 + (seed % 80))));
    },
    300_000,
  );

  it('without faults, requests above the rate are served later, and nearly all transactions commit', async () => {
    const { readers: _none, ...drawn } = slowed('paris', 3, 1_000_000);
    const plan: Plan = {
      ...drawn,
      faults: [],
      environment: { ...drawn.environment, requestTimeoutMs: 600_000 },
    };
    const at = async (requestsPerSecond: number): Promise<Summary> => {
      const [ended] = await simulatePlans([{ ...plan, environment: { ...plan.environment, requestsPerSecond } }]);
      return ended!;
    };
    const [fast, slow] = [await at(1_000_000), await at(50)];
    expect(slow.virtualMs).toBeGreaterThan(1.2 * fast.virtualMs);
    // The others are cancelled by their callers, or were open for too long.
    expect(slow.committed).toBeGreaterThan(0.8 * fast.committed);
  }, 300_000);
});
