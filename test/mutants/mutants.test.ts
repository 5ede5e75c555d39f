/// <reference types="jest" />
/** The checks can fail: every mutant is caught, and every variant passes. Runs the build. */
import { Lanes, sharesOf } from './lanes.js';
import { MUTANTS, VARIANTS } from './list/index.js';
import type { Patch } from './mutant.js';
import { renderTable } from './table.js';
import type { Caught, Run } from './trial.js';
import { savedRun, tryMutant, tryRuns } from './verdict.js';

const TIMEOUT_MS = 900_000;
/** Seeds that every variant passes, beside the saved runs of mutants. */
const VARIANT_SEEDS = Array.from({ length: 25 }, (_, i) => ({ seed: 1 + i }));

/** No more processes at a time than there are processors. */
const lanes = new Lanes();
const verdicts = MUTANTS.map((mutant) => lanes.run(() => tryMutant(mutant)));
const caughtByName = new Map(MUTANTS.map(({ name }, i) => [name, verdicts[i]!]));

/** Runs a patched build on all processors, and returns the failed runs. */
async function caughtIn(patches: readonly Patch[], runs: readonly Run[]): Promise<Caught[]> {
  const shares = sharesOf(runs).map((share) => lanes.run(() => tryRuns(patches, share)));
  return (await Promise.all(shares)).flat();
}

const variantRuns = [...MUTANTS.flatMap(savedRun), ...VARIANT_SEEDS];
const caughtInVariants = new Map(VARIANTS.map(({ name, patches }) => [name, caughtIn(patches, variantRuns)]));

afterAll(async () => {
  process.stdout.write(`${renderTable(await Promise.all(verdicts))}\n`);
}, TIMEOUT_MS);

// The test that awaits a trial reports its failure.
for (const one of [...verdicts, ...caughtInVariants.values()]) one.catch(() => undefined);

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
      expect(await caughtIn([], [...runs.values()])).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describe('a variant that is correct', () => {
  it.each(VARIANTS.map(({ name, does }) => [name, does] as const))(
    'the variant %s passes: it %s',
    async (name) => expect(await caughtInVariants.get(name)!).toEqual([]),
    TIMEOUT_MS,
  );
});
