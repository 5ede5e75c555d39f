/// <reference types="jest" />
/** The checks can fail: every breakage is caught, and what is merely unusual passes. Runs the build. */
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
    '%s is caught: %s',
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
    'passes every run that a breakage failed',
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
    '%s passes: %s',
    async (_name, _does, variant) => {
      await Promise.all(verdicts); // not more processes at a time than there are processors
      expect(await tryVariant(variant, [...MUTANTS.flatMap(savedRun), ...VARIANT_SEEDS])).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
