import { join } from 'node:path';
import { formatFailures, formatPlan, PROTOCOLS, readKept } from '@isochron/sim';
import type { Summary } from '@isochron/sim/cli/summary';
import { simulate, summariesIn } from './command.js';

/** Time for fresh seeds, of all protocols together. It limits their number, never decides whether one passes. */
const FRESH_MS = 90_000;
/** Seeds of every run, so that a change that breaks something fails on every machine. */
const FIXED_SEEDS = 10;
/** Among this many seeds, some show that a protocol promises too little. */
const CATCHING_SEEDS = 20;
const TIMEOUT_MS = 600_000;

const keptFile = join(__dirname, 'seeds.json');
const kept = readKept(keptFile);
const correct = [...PROTOCOLS.values()].filter(({ caughtBy }) => caughtBy.length === 0);
const caught = [...PROTOCOLS.values()].filter(({ caughtBy }) => caughtBy.length > 0);

/** Fails with the run's output: the failures, the plan made smaller, and the command that replays it. */
async function expectAllPassed(protocol: string, ...options: string[]): Promise<void> {
  const { code, output } = await simulate(protocol, ...options);
  if (code !== 0) throw new Error(output);
  const summary = output.split('\n').find((line) => line.startsWith(`${protocol}: `));
  process.stdout.write(`simulation of ${summary}\n`);
  expect(summary).toMatch(/: [1-9]\d*( of \d+)? seeds from \d+, 0 failed/);
}

describe('the simulation', () => {
  const summaries = new Map<string, Summary>();

  beforeAll(async () => {
    const { output } = await simulate('paris', '--kept', keptFile, '--json');
    for (const summary of summariesIn(output)) summaries.set(`${summary.protocol} ${summary.seed}`, summary);
    if (summaries.size === 0) throw new Error(output);
  }, TIMEOUT_MS);

  it.each(kept)(
    'the simulation passes a plan that failed once: $plan.protocol, seed $seed, $check',
    ({ plan, seed }) => {
      const summary = summaries.get(`${plan.protocol} ${seed}`);
      if (summary === undefined) throw new Error(`seed ${seed} of ${plan.protocol} was not run`);
      if (!summary.ok) throw new Error(`${formatFailures(summary)}\n${formatPlan(plan)}`);
    },
  );

  it('the kept plans of a protocol have different seeds', () => {
    expect(summaries.size).toBe(kept.length);
  });
});

describe.each(correct)('the simulation of $name', ({ name }) => {
  it(
    `the simulation passes the seeds 1 to ${FIXED_SEEDS}`,
    async () => expectAllPassed(name, '--seeds', `${FIXED_SEEDS}`, '--seed-start', '1'),
    TIMEOUT_MS,
  );

  it(
    'the simulation passes fresh seeds',
    async () => expectAllPassed(name, '--minutes', `${FRESH_MS / 60_000 / correct.length}`),
    TIMEOUT_MS,
  );
});

describe.each(caught)('the simulation of $name', ({ name, caughtBy }) => {
  it(
    'the histories of clients show what the protocol does not promise, and no other check fails',
    async () => {
      const { output } = await simulate(name, '--seeds', `${CATCHING_SEEDS}`, '--seed-start', '1', '--json');
      const seeds = summariesIn(output);
      const failures = seeds.flatMap(({ seed, failed }) => failed.map((check) => ({ seed, check })));
      expect(new Set(failures.map(({ check }) => check))).toEqual(new Set(caughtBy));
      process.stdout.write(
        `simulation of ${name}: ${failures.length} failures in ${seeds.length} seeds, the first in seed ${failures[0]!.seed}\n`,
      );
    },
    TIMEOUT_MS,
  );
});
