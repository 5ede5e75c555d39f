import { join } from 'node:path';
import { formatFailures, formatPlan, PROTOCOLS, type Result, readKept } from '@isochron/sim';

/** How long fresh seeds are drawn, of all protocols together. It decides how many run, never whether one passes. */
const FRESH_MS = 45_000;
/** These run every time, so that a change that breaks something is seen by everybody alike. */
const FIXED_SEEDS = 30;
/** Among so many seeds are those that show that a protocol promises too little. */
const CATCHING_SEEDS = 20;
const TIMEOUT_MS = 600_000;

const kept = readKept(join(__dirname, 'seeds.json'));
const correct = [...PROTOCOLS.values()].filter(({ caughtBy }) => caughtBy.length === 0);
const caught = [...PROTOCOLS.values()].filter(({ caughtBy }) => caughtBy.length > 0);

/** Fails with everything that is needed to look at it. */
function expectPassed(result: Result): void {
  if (result.ok) return;
  const { protocol, seed } = result;
  const replay = `npm run sim -- --protocol ${protocol} --seed ${seed} --keep test/sim/seeds.json`;
  throw new Error(`${formatFailures(result)}\n${formatPlan(result.plan)}\n  replay: ${replay}`);
}

describe('the simulation', () => {
  it.each(kept)('passes what failed once: $plan.protocol, seed $seed, $check', ({ plan }) => {
    expectPassed(PROTOCOLS.get(plan.protocol)!.run(plan));
  });
});

describe.each(correct)('the simulation of $name', ({ name, draw, run }) => {
  it(
    `passes the seeds 1 to ${FIXED_SEEDS}`,
    () => {
      for (let seed = 1; seed <= FIXED_SEEDS; seed++) expectPassed(run(draw(seed)));
    },
    TIMEOUT_MS,
  );

  it(
    'passes fresh seeds',
    () => {
      const first = Math.floor(Date.now() / 1000) * 1000;
      const end = performance.now() + FRESH_MS / correct.length;
      const ran = { seeds: 0, transactions: 0, faults: 0 };
      while (performance.now() < end) {
        const result = run(draw(first + ran.seeds));
        expectPassed(result);
        ran.seeds++;
        ran.transactions += result.stats.transactions;
        ran.faults += result.stats.faults;
      }
      process.stdout.write(
        `simulation of ${name}: ${FIXED_SEEDS} fixed seeds, ${ran.seeds} fresh ones from ${first} ` +
          `(${ran.transactions} transactions, ${ran.faults} faults) passed\n`,
      );
      expect(ran.seeds).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});

describe.each(caught)('the simulation of $name', ({ name, draw, run, caughtBy }) => {
  it(
    'catches it by the histories of its clients, and finds that it keeps what it promises',
    () => {
      const seeds = Array.from({ length: CATCHING_SEEDS }, (_, i) => i + 1);
      const failures = seeds.flatMap((seed) => run(draw(seed)).failures.map((failure) => ({ seed, ...failure })));
      const [first] = failures;
      expect(new Set(failures.map(({ check }) => check))).toEqual(new Set(caughtBy));
      process.stdout.write(
        `simulation of ${name}: ${failures.length} of ${CATCHING_SEEDS} seeds caught, first seed ${first!.seed}, ` +
          `${first!.message.split('\n', 1)[0]}\n`,
      );
    },
    TIMEOUT_MS,
  );
});
