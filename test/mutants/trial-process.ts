/** Runs trials: each comes as a message of the parent, and the result goes back as one. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type Failure, type Plan, PROTOCOLS, type Result } from '@isochron/sim';
import { shrink } from '@isochron/sim/shrink/shrink';
import { playScript, scriptDifferences } from '@isochron/testing/script/script';
import { profiled } from './profile.js';
import type { Caught, Notice, Run, TrialRequest, TrialResult } from './trial.js';

/** As `switches.ts` names it: the bundle declares it. */
declare const isochronSwitches: { readonly on: Uint8Array; readonly ran: Uint8Array };

let trial: TrialRequest;

process.on('message', (request: TrialRequest) => {
  trial = request;
  process.send!(answer());
});

function answer(): TrialResult {
  const { on, ran } = isochronSwitches;
  on.fill(0);
  for (const number of trial.switches) on[number] = 1;
  const caught: Caught[] = [];
  let tried = 0;
  for (const run of trial.runs) {
    tried++;
    const one = 'script' in run ? play(run) : simulate(run);
    if (one !== undefined) caught.push(one);
    if (one !== undefined && trial.untilCaught) break;
  }
  return { tried, caught, hasRun: trial.switches.every((number) => ran[number] === 1) };
}

function counts({ kind }: Failure): boolean {
  return !trial.ignored.includes(kind);
}

/** A machine that stops itself ends the run anyway, after the checks of its end. */
function decides(failure: Failure): boolean {
  return failure.kind !== 'crash' && counts(failure);
}

function simulate(run: Exclude<Run, { script: string }>): Caught | undefined {
  const plan = planOf(run);
  const [first, ...others] = noticesOf(runOf(plan, decides));
  if (first === undefined) return undefined;
  return { run, seed: plan.seed, by: [first, ...others], ...shrunk(plan, first) };
}

function planOf(run: Exclude<Run, { script: string }>): Plan {
  if ('plan' in run) return JSON.parse(readFileSync(run.plan, 'utf8')) as Plan;
  return profiled(PROTOCOLS.get(run.protocol ?? 'paris')!.draw(run.seed), run.profile ?? {});
}

/** Runs the plan until a failure decides: the rest of a run that has failed changes nothing. */
function runOf(plan: Plan, stopAt: (failure: Failure) => boolean): Result {
  return PROTOCOLS.get(plan.protocol)!.run(plan, { stopAt });
}

function noticesOf({ failures }: Result): Notice[] {
  return failures
    .filter(counts)
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
  const isSame = (failure: { readonly check: string }): boolean => failure.check === check;
  const fails = (candidate: Plan): boolean => noticesOf(runOf(candidate, isSame)).some(isSame);
  return { plan: shrink(plan, fails, { goesOn: () => performance.now() < endMs }) };
}
