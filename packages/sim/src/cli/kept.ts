import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Failure } from '../checks/check.js';
import type { Plan } from '../plan/plan.js';

/** A plan that failed once. It runs in every test from then on. */
export interface KeptSeed {
  /** The seed that it was found with, and the version of the draws at that time (`Plan.draw`). */
  readonly seed: number;
  /** The failed check. */
  readonly check: string;
  /** The failure in one sentence. */
  readonly why: string;
  readonly plan: Plan;
}

/** The seeds of a file, one in each line. */
export const readKept = (file: string): KeptSeed[] => JSON.parse(readFileSync(file, 'utf8')) as KeptSeed[];

/** Adds a failing plan to a file of kept seeds, unless it is there already. */
export function keep(file: string, plan: Plan, { check, message }: Failure): void {
  const kept = existsSync(file) ? readKept(file) : [];
  if (kept.some((old) => JSON.stringify(old.plan) === JSON.stringify(plan))) return;
  const why = message.split('\n', 1)[0]!;
  const lines = [...kept, { seed: plan.seed, check, why, plan }].map((entry) => `  ${JSON.stringify(entry)}`);
  writeFileSync(file, `[\n${lines.join(',\n')}\n]\n`);
}
