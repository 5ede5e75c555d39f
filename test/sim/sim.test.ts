import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { formatFailures, formatPlan, PROTOCOLS, readKept } from '@isochron/sim';
import type { Summary } from '@isochron/sim/cli/summary';

/** How long fresh seeds are drawn, of all protocols together. It decides how many run, never whether one passes. */
const FRESH_MS = 90_000;
/** These run every time, so that a change that breaks something is seen by everybody alike. */
const FIXED_SEEDS = 10;
/** Among so many seeds are those that show that a protocol promises too little. */
const CATCHING_SEEDS = 20;
const TIMEOUT_MS = 600_000;

const keptFile = join(__dirname, 'seeds.json');
const kept = readKept(keptFile);
const correct = [...PROTOCOLS.values()].filter(({ caughtBy }) => caughtBy.length === 0);
const caught = [...PROTOCOLS.values()].filter(({ caughtBy }) => caughtBy.length > 0);

/** Runs `npm run sim` as it was built: its seeds take a third of the time that they take in this process. */
async function simulate(protocol: string, ...options: string[]): Promise<{ code: number; output: string }> {
  const main = join(__dirname, '../../packages/sim/dist/cli/main.js');
  return new Promise((resolve) => {
    const args = [main, '--protocol', protocol, ...options];
    const child = execFile(process.execPath, args, { maxBuffer: 2 ** 27 }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, output: `${stdout}${stderr}` }),
    );
  });
}

/** Fails with what the run shows: the failures, the plan made smaller, and how to replay it. */
async function expectAllPassed(protocol: string, ...options: string[]): Promise<void> {
  const { code, output } = await simulate(protocol, ...options);
  if (code !== 0) throw new Error(output);
  const summary = output.split('\n').find((line) => line.startsWith(`${protocol}: `));
  process.stdout.write(`simulation of ${summary}\n`);
  expect(summary).toMatch(/: [1-9]\d*( of \d+)? seeds from \d+, 0 failed/);
}

/** What became of every line of `--json`. */
const summariesIn = (output: string): Summary[] =>
  output.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Summary] : []));

describe('the simulation', () => {
  const summaries = new Map<string, Summary>();

  beforeAll(async () => {
    const { output } = await simulate('paris', '--kept', keptFile, '--json');
    for (const summary of summariesIn(output)) summaries.set(`${summary.protocol} ${summary.seed}`, summary);
    if (summaries.size === 0) throw new Error(output);
  }, TIMEOUT_MS);

  it.each(kept)('passes what failed once: $plan.protocol, seed $seed, $check', ({ plan, seed }) => {
    const summary = summaries.get(`${plan.protocol} ${seed}`);
    if (summary === undefined) throw new Error(`seed ${seed} of ${plan.protocol} was not run`);
    if (!summary.ok) throw new Error(`${formatFailures(summary)}\n${formatPlan(plan)}`);
  });

  it('has one kept plan for each seed of a protocol', () => {
    expect(summaries.size).toBe(kept.length);
  });
});

describe.each(correct)('the simulation of $name', ({ name }) => {
  it(
    `passes the seeds 1 to ${FIXED_SEEDS}`,
    async () => expectAllPassed(name, '--seeds', `${FIXED_SEEDS}`, '--seed-start', '1'),
    TIMEOUT_MS,
  );

  it(
    'passes fresh seeds',
    async () => expectAllPassed(name, '--minutes', `${FRESH_MS / 60_000 / correct.length}`),
    TIMEOUT_MS,
  );
});

describe.each(caught)('the simulation of $name', ({ name, caughtBy }) => {
  it(
    'catches it by the histories of its clients, and finds that it keeps what it promises',
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
