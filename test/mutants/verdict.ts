/** Tries mutants and variants, and returns their verdicts. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../e2e/processes.js';
import type { Mutant, SeedRange } from './mutant.js';
import type { Change } from './test-build.js';
import type { Caught, Run } from './trial.js';
import type { Trials } from './trials.js';

/** The code without its own invariants: what still detects a breakage is a check from outside. */
export const WITHOUT_INVARIANTS: Change = {
  patches: [
    {
      file: 'packages/core/src/invariant.ts',
      in: 'invariant',
      find: 'if (!condition) throw',
      replace: 'if (!condition && message === undefined) throw',
    },
  ],
};

/** The result of a mutant. */
export interface Verdict {
  readonly mutant: Mutant;
  /** The run that the mutant failed, and how many runs were tried. */
  readonly caught: Caught | undefined;
  readonly tried: number;
  /** If a machine stopped itself first: the result without any invariants, seen from outside. */
  readonly outside: Caught | undefined;
}

/** File of the run that shows a mutant, if it has one. */
export const planFile = ({ name }: Pick<Mutant, 'name'>): string => join(ROOT, 'test/mutants/plans', `${name}.json`);

/** The runs that must catch a mutant, in their order. */
export function runsOf(mutant: Mutant, seeds: SeedRange = mutant.seeds): Run[] {
  const { profile, protocol } = mutant;
  return Array.from({ length: seeds.count }, (_, i) => ({
    seed: seeds.from + i,
    ...(protocol !== undefined && { protocol }),
    ...(profile !== undefined && { profile }),
  }));
}

/** The saved run of a mutant, if it has one. */
export function savedRun(mutant: Pick<Mutant, 'name'>): Run[] {
  const plan = planFile(mutant);
  return existsSync(plan) ? [{ plan }] : [];
}

function scriptOf({ script }: Mutant): Run[] {
  return script === undefined ? [] : [{ script: join(ROOT, 'packages/protocols/src/paris/testdata', script) }];
}

/** Tries runs of a mutant until one fails. */
export async function tryMutant(trials: Trials, mutant: Mutant): Promise<Verdict> {
  const runs = [...savedRun(mutant), ...runsOf(mutant), ...scriptOf(mutant)];
  const { tried, caught } = await trials.run({ changes: [mutant], runs, untilCaught: true, ignored: [] });
  const [first] = caught;
  if (first === undefined || first.by.some(({ kind }) => kind !== 'crash')) {
    return { mutant, tried, caught: first, outside: first };
  }
  const changes = [mutant, WITHOUT_INVARIANTS];
  const again = await trials.run({ changes, runs, untilCaught: true, ignored: ['crash'] });
  return { mutant, tried, caught: first, outside: again.caught[0] };
}

/** Runs the code with changes, or the unchanged code, and returns every run that fails. */
export async function tryRuns(
  trials: Trials,
  changes: readonly Change[],
  runs: readonly Run[],
): Promise<readonly Caught[]> {
  return (await trials.run({ changes, runs, untilCaught: false, ignored: [] })).caught;
}
