/// <reference types="jest" />
/** The checks can fail: every mutant is caught, and every variant passes. Runs the build. */
import { TIER } from '../tier.js';
import { dueChanges } from './changed.js';
import { Lanes, sharesOf } from './lanes.js';
import * as list from './list/index.js';
import type { Variant } from './mutant.js';
import { renderTable } from './table.js';
import type { Change } from './test-build.js';
import type { Caught, Run } from './trial.js';
import { Trials } from './trials.js';
import { savedRun, tryMutant, tryRuns, WITHOUT_INVARIANTS } from './verdict.js';

const TIMEOUT_MS = 900_000;
/** Seeds that every variant passes, beside the saved runs of mutants. */
const VARIANT_SEEDS = Array.from({ length: 25 }, (_, i) => ({ seed: 1 + i }));

const MUTANTS = dueChanges(list.MUTANTS, TIER);
const VARIANTS = dueChanges(list.VARIANTS, TIER);

/** No more processes at a time than there are processors. */
const lanes = new Lanes();
const trials = new Trials([...MUTANTS, ...VARIANTS, WITHOUT_INVARIANTS]);
const verdicts = MUTANTS.map((mutant) => lanes.run(() => tryMutant(trials, mutant)));
const caughtByName = new Map(MUTANTS.map(({ name }, i) => [name, verdicts[i]!]));

/** Runs the code with changes on all processors, and returns the failed runs. */
async function caughtIn(changes: readonly Change[], runs: readonly Run[]): Promise<Caught[]> {
  const shares = sharesOf(runs).map((share) => lanes.run(() => tryRuns(trials, changes, share)));
  return (await Promise.all(shares)).flat();
}

/** The seeds, and the saved runs of the mutants that break a rule of the variant. */
function variantRuns({ rules }: Variant): Run[] {
  const related = list.MUTANTS.filter(({ breaks }) => rules.some((rule) => new RegExp(`\\b${rule}\\b`).test(breaks)));
  return [...related.flatMap(savedRun), ...VARIANT_SEEDS];
}

const caughtInVariants = new Map(VARIANTS.map((one) => [one.name, caughtIn([one], variantRuns(one))]));

afterAll(async () => {
  process.stdout.write(`${renderTable(await Promise.all(verdicts))}\n`);
  trials.end();
}, TIMEOUT_MS);

// The test that awaits a trial reports its failure.
for (const one of [...verdicts, ...caughtInVariants.values()]) one.catch(() => undefined);

describe('a breakage', () => {
  for (const { name, does } of MUTANTS) {
    it(`the mutant ${name} is caught: it ${does}`, () => expectCaught(name), TIMEOUT_MS);
  }
});

async function expectCaught(name: string): Promise<void> {
  const { caught, outside } = await caughtByName.get(name)!;
  expect(caught).toBeDefined();
  expect(outside).toBeDefined();
}

describe('the code as it is', () => {
  it(
    'the unpatched code passes every run that a mutant failed',
    async () => {
      const caught = (await Promise.all(verdicts)).flatMap((verdict) => [verdict.caught, verdict.outside]);
      const runs = new Map(caught.flatMap((one) => (one === undefined ? [] : [[JSON.stringify(one.run), one.run]])));
      expect(await caughtIn([], [...runs.values()])).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describe('a variant that is correct', () => {
  for (const { name, does } of VARIANTS) {
    it(
      `the variant ${name} passes: it ${does}`,
      async () => expect(await caughtInVariants.get(name)!).toEqual([]),
      TIMEOUT_MS,
    );
  }
});
