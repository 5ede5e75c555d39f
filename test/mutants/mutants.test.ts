/// <reference types="jest" />
/** The checks can fail: every mutant is caught, and every variant passes. Runs the build. */
import { inLanes } from './lanes.js';
import { MUTANTS, VARIANTS } from './list/index.js';
import { renderTable } from './table.js';
import { savedRun, tryMutant, tryUnbroken, tryVariant } from './verdict.js';

const TIMEOUT_MS = 900_000;
/** Seeds that every variant passes, beside the saved runs of mutants. */
const VARIANT_SEEDS = Array.from({ length: 25 }, (_, i) => ({ seed: 1 + i }));

const verdicts = inLanes(MUTANTS, tryMutant);
const caughtByName = new Map(MUTANTS.map(({ name }, i) => [name, verdicts[i]!]));

afterAll(async () => {
  process.stdout.write(`${renderTable(await Promise.all(verdicts))}\n`);
}, TIMEOUT_MS);

describe('a breakage', () => {
  it.each(MUTANTS.map(({ name, does }) => [name, does] as const))(
    'the mutant %s is caught: it %s',
    async (name) => {
      const { caught, outside } = await caughtByName.get(name)!;
      expect(caught).toBeDefined();
      expect(outside).toBeDefined();
    },
    TIMEOUT_MS,
  );
});

describe('the code as it is', () => {
  it(
    'the unpatched code passes every run that a mutant failed',
    async () => {
      const caught = (await Promise.all(verdicts)).flatMap((verdict) => [verdict.caught, verdict.outside]);
      const runs = new Map(caught.flatMap((one) => (one === undefined ? [] : [[JSON.stringify(one.run), one.run]])));
      expect(await tryUnbroken([...runs.values()])).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describe('a variant that is correct', () => {
  it.each(VARIANTS.map((variant) => [variant.name, variant.does, variant] as const))(
    'the variant %s passes: it %s',
    async (_name, _does, variant) => {
      await Promise.all(verdicts); // at most one process per processor
      expect(await tryVariant(variant, [...MUTANTS.flatMap(savedRun), ...VARIANT_SEEDS])).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
