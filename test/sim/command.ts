/** The built command `npm run sim`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Plan } from '@isochron/sim';
import type { Summary } from '@isochron/sim/cli/summary';
import { run } from '../e2e/processes.js';

/** Longest time of a run, ms. */
const LIMIT_MS = 3_600_000;

/** Runs the command. In the process of the tests a run takes three times as long. */
export async function simulate(...args: string[]): Promise<{ code: number; output: string }> {
  const main = join(__dirname, '../../packages/sim/dist/cli/main.js');
  const { code, stdout, stderr } = await run(process.execPath, [main, ...args], { timeoutMs: LIMIT_MS });
  return { code: code ?? -1, output: `${stdout}${stderr}` };
}

/**
 * Runs plans of any protocols on all processors: one process compiles the code once for all of them.
 * @throws Error with the output unless every plan was run
 */
export async function simulatePlans(plans: readonly Plan[]): Promise<Summary[]> {
  const folder = mkdtempSync(join(tmpdir(), 'isochron-plans-'));
  try {
    const file = join(folder, 'plans.json');
    writeFileSync(file, JSON.stringify(plans.map((plan) => ({ seed: plan.seed, check: '', why: '', plan }))));
    const { output } = await simulate('--kept', file, '--json');
    const summaries = summariesIn(output);
    if (summaries.length !== plans.length) throw new Error(`${summaries.length} of ${plans.length} runs:\n${output}`);
    return summaries;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Seeds of one run of a test, beside those of `sim.test.ts`; `SEED` repeats one. */
export const freshSeeds = (): number[] =>
  process.env.SEED === undefined ? [0, 1].map((i) => Math.floor(Math.random() * 1e9) + i) : [Number(process.env.SEED)];

/** Runs plans, and fails with the seed of each that did not pass. */
export async function expectPassed(plans: readonly Plan[]): Promise<void> {
  for (const { seed, failures } of await simulatePlans(plans))
    expect({ SEED: seed, failures }).toEqual({ SEED: seed, failures: [] });
}

/** The summaries that `--json` prints, one a line. */
const summariesIn = (output: string): Summary[] =>
  output.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Summary] : []));
