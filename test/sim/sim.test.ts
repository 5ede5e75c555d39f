import { join } from 'node:path';
import {
  DEFAULT_SIZE,
  formatFailures,
  formatPlan,
  type PlanSize,
  PROTOCOLS,
  readKept,
  type SimulatedProtocol,
} from '@isochron/sim';
import type { Summary } from '@isochron/sim/cli/summary';
import { TIER } from '../tier.js';
import { simulate, simulatePlans } from './command.js';

/** Seeds of every run, so that a change that breaks something fails on every machine. */
const FIXED = seedsFrom(1, { quick: 5, default: 10, all: 10 }[TIER]);
/** Seeds of this run alone. */
const FRESH = seedsFrom(Math.floor(Date.now() / 1000) * 1000, { quick: 1, default: 5, all: 200 }[TIER]);
/** Among these seeds, some show that a protocol promises too little. */
const CATCHING = seedsFrom(1, 20);
const TIMEOUT_MS = 3_600_000;

const kept = readKept(join(__dirname, 'seeds.json'));
const correct = [...PROTOCOLS.values()].filter(({ caughtBy }) => caughtBy.length === 0);
const caught = [...PROTOCOLS.values()].filter(({ caughtBy }) => caughtBy.length > 0);

function seedsFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}

const keyOf = ({ protocol, seed }: { readonly protocol: string; readonly seed: number }): string =>
  `${protocol} ${seed}`;
const byKey = (summaries: readonly Summary[]) => new Map(summaries.map((summary) => [keyOf(summary), summary]));

describe('the simulation of kept plans', () => {
  let summaries: ReadonlyMap<string, Summary>;

  beforeAll(async () => {
    summaries = byKey(await simulatePlans(kept.map(({ plan }) => plan)));
  }, TIMEOUT_MS);

  it.each(kept)('the simulation passes a plan that failed once: $plan.protocol, seed $seed, $check', ({ plan }) => {
    const summary = summaries.get(keyOf(plan))!;
    if (!summary.ok) throw new Error(`${formatFailures(summary)}\n${formatPlan(plan)}`);
  });

  it('the kept plans of a protocol have different seeds', () => {
    expect(summaries.size).toBe(kept.length);
  });
});

/** In half of the fixed plans, nodes that do not answer are suspended. */
const SIZE: PlanSize = { ...DEFAULT_SIZE, suspendAfterMs: 'drawn' };

describe('the simulation', () => {
  let summaries: ReadonlyMap<string, Summary>;
  const summariesOf = (protocol: string, seeds: readonly number[]): Summary[] =>
    seeds.map((seed) => summaries.get(keyOf({ protocol, seed }))!);

  beforeAll(async () => {
    const drawn = (protocols: readonly SimulatedProtocol[], seeds: readonly number[], size = DEFAULT_SIZE) =>
      protocols.flatMap((protocol) => seeds.map((seed) => protocol.draw(seed, size)));
    const plans = [...drawn(correct, FIXED, SIZE), ...drawn(correct, FRESH), ...drawn(caught, CATCHING)];
    summaries = byKey(await simulatePlans(plans));
    process.stdout.write(`simulation: seeds ${FIXED[0]} to ${FIXED.at(-1)} and ${FRESH[0]} to ${FRESH.at(-1)}\n`);
  }, TIMEOUT_MS);

  /** Fails with the output of the first failed run: its failures, the smaller plan, the command that replays it. */
  async function expectAllPassed(protocol: string, seeds: readonly number[]): Promise<void> {
    const failed = summariesOf(protocol, seeds).filter(({ ok }) => !ok);
    const [first] = failed;
    if (first === undefined) return;
    const { output } = await simulate('--protocol', protocol, '--seed', `${first.seed}`);
    throw new Error(`failed seeds: ${failed.map(({ seed }) => seed).join(', ')}\n${output}`);
  }

  describe.each(correct)('the simulation of $name', ({ name }) => {
    it(
      `the simulation passes the seeds ${FIXED[0]} to ${FIXED.at(-1)}`,
      async () => expectAllPassed(name, FIXED),
      TIMEOUT_MS,
    );

    it('the simulation passes fresh seeds', async () => expectAllPassed(name, FRESH), TIMEOUT_MS);
  });

  describe.each(caught)('the simulation of $name', ({ name, caughtBy }) => {
    it('the histories of clients show what the protocol does not promise, and no other check fails', () => {
      const seeds = summariesOf(name, CATCHING);
      const failures = seeds.flatMap(({ seed, failed }) => failed.map((check) => ({ seed, check })));
      expect(new Set(failures.map(({ check }) => check))).toEqual(new Set(caughtBy));
      process.stdout.write(
        `simulation of ${name}: ${failures.length} failures in ${seeds.length} seeds, ` +
          `the first in seed ${failures[0]!.seed}\n`,
      );
    });
  });
});
