import { join } from 'node:path';
import { formatFailures, formatPlan, PROTOCOLS, type Result, readKept } from '@isochron/sim';

/** How long fresh seeds are drawn. It decides how many run, never whether one passes. */
const FRESH_MS = 45_000;
/** These run every time, so that a change that breaks something is seen by everybody alike. */
const FIXED_SEEDS = 60;
const TIMEOUT_MS = 600_000;

const kept = readKept(join(__dirname, 'seeds.json'));

/** Fails with everything that is needed to look at it. */
function expectPassed(result: Result): void {
  if (result.ok) return;
  const { protocol, seed } = result;
  const replay = `npm run sim -- --protocol ${protocol} --seed ${seed} --keep test/sim/seeds.json`;
  throw new Error(`${formatFailures(result)}\n${formatPlan(result.plan)}\n  replay: ${replay}`);
}

describe.each([...PROTOCOLS.values()])('the simulation of $name', ({ name, draw, run }) => {
  const own = kept.filter(({ plan }) => plan.protocol === name);

  it.each(own)('passes what failed once: seed $seed, $check', ({ plan }) => {
    expectPassed(run(plan));
  });

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
      const end = performance.now() + FRESH_MS;
      const ran = { seeds: 0, transactions: 0, faults: 0 };
      while (performance.now() < end) {
        const result = run(draw(first + ran.seeds));
        expectPassed(result);
        ran.seeds++;
        ran.transactions += result.stats.transactions;
        ran.faults += result.stats.faults;
      }
      process.stdout.write(
        `simulation of ${name}: ${own.length} kept and ${FIXED_SEEDS} fixed seeds, ${ran.seeds} fresh ones from ${first} ` +
          `(${ran.transactions} transactions, ${ran.faults} faults) passed\n`,
      );
      expect(ran.seeds).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
