/** Tries mutants and variants, and returns their verdicts. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../e2e/processes.js';
import type { Mutant, Patch, SeedRange } from './mutant.js';
import { type Caught, type Run, runTrial } from './trial.js';

/** The code without its own invariants: what still detects a breakage is a check from outside. */
export const WITHOUT_INVARIANTS: Patch = {
  file: 'packages/core/src/invariant.ts',
  in: 'invariant',
  find: 'if (!condition) throw',
  replace: 'if (!condition && message === undefined) throw',
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
export async function tryMutant(mutant: Mutant): Promise<Verdict> {
  const { patches } = mutant;
  const runs = [...savedRun(mutant), ...runsOf(mutant), ...scriptOf(mutant)];
  const { tried, caught } = await runTrial({ patches, runs, untilCaught: true, ignored: [] });
  const [first] = caught;
  if (first === undefined || first.by.some(({ kind }) => kind !== 'crash')) {
    return { mutant, tried, caught: first, outside: first };
  }
  const blind = [...patches, WITHOUT_INVARIANTS];
  const again = await runTrial({ patches: blind, runs, untilCaught: true, ignored: ['crash'] });
  return { mutant, tried, caught: first, outside: again.caught[0] };
}

/** Runs the code with patches, or the unpatched code, and returns every run that fails. */
export async function tryRuns(patches: readonly Patch[], runs: readonly Run[]): Promise<readonly Caught[]> {
  return (await runTrial({ patches, runs, untilCaught: false, ignored: [] })).caught;
}
