/** `npm run mutants -- --search`: how often fresh seeds catch each mutant. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Mutant, SeedRange } from './mutant.js';
import { noticedBy } from './table.js';
import type { Caught } from './trial.js';
import type { Trials } from './trials.js';
import { planFile, runsOf } from './verdict.js';

const SHRINK_MS = 60_000;
/** Limit of the seeds that the report names. */
const NAMED = 8;

/** Tries every seed of a range and reports in a line which of them catch the mutant. */
export async function search(trials: Trials, mutant: Mutant, seeds: SeedRange): Promise<string> {
  const { name } = mutant;
  const runs = runsOf(mutant, seeds);
  const { caught, tried } = await trials.run({ changes: [mutant], runs, untilCaught: false, ignored: [] });
  const found = caught.slice(0, NAMED).map(({ seed }) => seed ?? '');
  return `${name}: ${caught.length} of ${tried} seeds${caught.length > 0 ? `: ${found.join(', ')}` : ''}\n${countsOf(caught)}`;
}

/** Finds, shrinks and keeps a run that catches the mutant. Failures of machines that stop themselves do not count. */
export async function pin(trials: Trials, mutant: Mutant, seeds: SeedRange): Promise<string> {
  const { name } = mutant;
  const trial = { changes: [mutant], runs: runsOf(mutant, seeds), untilCaught: true, shrinkMs: SHRINK_MS } as const;
  const { caught } = await trials.run({ ...trial, ignored: ['crash'] });
  const [first] = caught;
  if (first?.plan === undefined) return `${name}: no seed catches it`;
  const file = planFile(mutant);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(first.plan)}\n`);
  return `${name}: seed ${first.seed}, ${noticedBy(first)}; ${file}`;
}

/** How often each check was the first to detect the mutant. */
function countsOf(caught: readonly Caught[]): string {
  const counts = new Map<string, number>();
  for (const one of caught) counts.set(noticedBy(one), (counts.get(noticedBy(one)) ?? 0) + 1);
  return [...counts].map(([check, count]) => `    ${count} × ${check}\n`).join('');
}
