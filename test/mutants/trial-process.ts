/** Runs a trial: the trial is the argument of the process, the result goes to stdout, both as JSON. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type Plan, PROTOCOLS, type Result } from '@isochron/sim';
import { shrink } from '@isochron/sim/shrink/shrink';
import { playScript, scriptDifferences } from '@isochron/testing/protocols/script';
import { profiled } from './profile.js';
import type { Caught, Notice, Run, Trial, TrialResult } from './trial.js';

/** As `test-build.ts` names it. */
const LOADED = 'isochronLoadedPatches';

const trial = JSON.parse(process.argv.at(-1)!) as Trial;

process.stdout.write(JSON.stringify(answer()));

function answer(): TrialResult {
  const caught: Caught[] = [];
  let tried = 0;
  for (const run of trial.runs) {
    tried++;
    const one = 'script' in run ? play(run) : simulate(run);
    if (one !== undefined) caught.push(one);
    if (one !== undefined && trial.untilCaught) break;
  }
  confirmLoaded();
  return { tried, caught };
}

function simulate(run: Exclude<Run, { script: string }>): Caught | undefined {
  const plan = planOf(run);
  const [first, ...others] = noticesOf(runOf(plan));
  if (first === undefined) return undefined;
  return { run, seed: plan.seed, by: [first, ...others], ...shrunk(plan, first) };
}

function planOf(run: Exclude<Run, { script: string }>): Plan {
  if ('plan' in run) return JSON.parse(readFileSync(run.plan, 'utf8')) as Plan;
  return profiled(PROTOCOLS.get(run.protocol ?? 'paris')!.draw(run.seed), run.profile ?? {});
}

function runOf(plan: Plan): Result {
  return PROTOCOLS.get(plan.protocol)!.run(plan);
}

function noticesOf({ failures }: Result): Notice[] {
  return failures
    .filter(({ kind }) => !trial.ignored.includes(kind))
    .map(({ check, kind, message }) => ({ check, kind, message: message.split('\n', 1)[0]! }));
}

function play(run: { readonly script: string }): Caught | undefined {
  const name = basename(run.script, '.txt');
  const check = `script ${name}`;
  try {
    const text = readFileSync(run.script, 'utf8');
    const message = scriptDifferences(name, text, playScript(name, text));
    return message === '' ? undefined : { run, by: [{ check, kind: 'safety', message }] };
  } catch (error) {
    return { run, by: [{ check, kind: 'safety', message: String(error) }] };
  }
}

function shrunk(plan: Plan, { check }: Notice): { plan?: Plan } {
  if (trial.shrinkMs === undefined) return {};
  const endMs = performance.now() + trial.shrinkMs;
  const fails = (candidate: Plan): boolean => noticesOf(runOf(candidate)).some((notice) => notice.check === check);
  return { plan: shrink(plan, fails, { goesOn: () => performance.now() < endMs }) };
}

/** A patch of a file that was never loaded has no effect: no check could catch it, and a variant would pass. */
function confirmLoaded(): void {
  const loaded = (globalThis as { [LOADED]?: ReadonlySet<string> })[LOADED];
  const missing = trial.patches.find(({ file }) => !loaded?.has(file));
  if (missing !== undefined) throw new Error(`${missing.file} was patched, but never loaded`);
}
