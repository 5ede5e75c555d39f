/** `npm run sim`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import type { Failure, FailureKind } from '../checks/check.js';
import { DEFAULT_SIZE, type PlanSize } from '../plan/draw.js';
import type { Plan } from '../plan/plan.js';
import { PROTOCOLS, type SimulatedProtocol } from '../protocols/index.js';
import { formatFailures, formatPlan, formatTrace, linesAbout } from '../run/report.js';
import { type Result, worstKind } from '../run/result.js';
import { formatLine } from '../run/trace.js';
import { shrink } from '../shrink/shrink.js';
import { EXIT, exitCodeOf } from './exit-codes.js';
import { keep, readKept } from './kept.js';
import { type SimOptions, simCommand } from './options.js';
import { Pool } from './pool.js';
import { SeedProgress } from './progress.js';
import { commitOfTree } from './source-tree.js';
import { type Summary, summaryOf } from './summary.js';

/** Time limit for shrinking one failure. */
const SHRINK_MS = 60_000;
const DEFAULT_SEEDS = 100;
/** After this many failing seeds there is nothing new to learn. */
const ENOUGH_FAILURES = 10;
/** This many of them are made smaller. */
const EXPLAINED = 3;

/** Runs the command; returns its exit code. */
export async function runSimCommand(args: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.passed;
  const command = simCommand(async (options) => {
    exitCode = exitCodeOf(await simulate(options));
  });
  try {
    await command.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.passed : EXIT.usage;
    if (!(error instanceof UnreadablePlan)) throw error;
    process.stderr.write(`sim: ${error.message}\n`);
    return EXIT.usage;
  }
  return exitCode;
}

/** A file that is not a plan. */
class UnreadablePlan extends Error {}

async function simulate(options: SimOptions): Promise<FailureKind | undefined> {
  const { seed, plan, kept, protocol } = options;
  if (kept !== undefined) return all(keptPlans(kept), options);
  const simulated = PROTOCOLS.get(protocol)!;
  if (plan !== undefined) return single(simulatedBy(readPlan(plan)), readPlan(plan), options);
  if (seed !== undefined) return single(simulated, simulated.draw(seed, sizeOf(options)), options);
  return many(simulated, options);
}

function readPlan(file: string): Plan {
  try {
    const plan = JSON.parse(readFileSync(file, 'utf8')) as Plan;
    if (!PROTOCOLS.has(plan.protocol)) throw new Error('it names no protocol that is simulated');
    return plan;
  } catch (error) {
    throw new UnreadablePlan(`${file} is not a plan: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function keptPlans(file: string): Plan[] {
  try {
    return readKept(file).map(({ plan }) => plan);
  } catch (error) {
    throw new UnreadablePlan(`${file} has no kept seeds: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const simulatedBy = (plan: Plan): SimulatedProtocol => PROTOCOLS.get(plan.protocol)!;

/** Runs one seed or plan and shows it. */
function single(simulated: SimulatedProtocol, plan: Plan, options: SimOptions): FailureKind | undefined {
  const print = (text: string) => process.stdout.write(`${text}\n`);
  const { verbose, json } = options;
  const result = simulated.run(
    plan,
    verbose && !json ? { trace: true, onLine: (line) => print(formatLine(line)) } : {},
  );
  if (json) print(JSON.stringify(summaryOf(result)));
  else if (result.ok) print(`seed ${plan.seed}: passed, ${statsOf(summaryOf(result))}`);
  else explain(simulated, result, options);
  return worstKind(result.failures);
}

/** Runs saved plans on all processors. Their failures are not shrunk: the plans are small already. */
async function all(plans: readonly Plan[], options: SimOptions): Promise<FailureKind | undefined> {
  const failed: Summary[] = [];
  let next = 0;
  await new Pool(options.protocol, sizeOf(options), options.workers).run(
    () => plans[next++],
    (summary) => {
      if (options.json) process.stdout.write(`${JSON.stringify(summary)}\n`);
      if (!summary.ok) failed.push(summary);
    },
  );
  if (!options.json) {
    for (const summary of failed) process.stdout.write(`${formatFailures(summary)}\n`);
    process.stdout.write(`${plans.length} plans, ${failed.length} failed\n`);
  }
  return worstKind(failed.flatMap(({ failures }) => failures));
}

/** Runs many seeds on all processors. */
async function many(simulated: SimulatedProtocol, options: SimOptions): Promise<FailureKind | undefined> {
  const seedStart = options.seedStart ?? Math.floor(Date.now() / 1000) * 1000;
  const total = options.minutes === undefined ? (options.seeds ?? DEFAULT_SEEDS) : undefined;
  const endMs = options.minutes === undefined ? undefined : performance.now() + options.minutes * 60_000;
  const progress = new SeedProgress(simulated.name, seedStart, total, endMs);
  const failed: Summary[] = [];
  let next = seedStart;
  const pool = new Pool(simulated.name, sizeOf(options), options.workers);
  await pool.run(
    () => {
      const over = total === undefined ? performance.now() >= endMs! : next >= seedStart + total;
      return over || failed.length >= ENOUGH_FAILURES ? undefined : next++;
    },
    (summary) => {
      if (options.json) process.stdout.write(`${JSON.stringify(summary)}\n`);
      if (!summary.ok) failed.push(summary);
      progress.done(summary);
    },
  );
  progress.end();
  if (!options.json) explainAll(simulated, failed, options);
  return worstKind(failed.flatMap(({ failures }) => failures));
}

/** The first failures as small as they get; the others, which often have the same cause, in a few lines. */
function explainAll(simulated: SimulatedProtocol, failed: readonly Summary[], options: SimOptions): void {
  for (const [i, summary] of failed.entries()) {
    if (i < EXPLAINED) explain(simulated, simulated.run(simulated.draw(summary.seed, sizeOf(options))), options);
    else process.stdout.write(`\n${formatFailures(summary)}\n${replayOf(summary, options)}\n`);
  }
}

const replayOf = ({ protocol, seed }: { protocol: string; seed: number }, options: SimOptions): string =>
  `  replay: npm run sim -- --protocol ${protocol} --seed ${seed}${sizeFlag(options)} --verbose`;

/** Shows a failure: as small as it gets, with its trace and the command that replays it. */
function explain(simulated: SimulatedProtocol, result: Result, options: SimOptions): void {
  const print = (text: string) => process.stdout.write(`${text}\n`);
  const [failure] = result.failures;
  if (failure === undefined) {
    print('The failure did not come again: the run depends on more than its seed.');
    return;
  }
  print(`\n${formatFailures(result)}\n  commit ${commitOfTree()}`);
  print(replayOf(result.plan, options));
  const plan = options.shrink ? smaller(simulated, result) : result.plan;
  const file = savePlan(plan, options.save);
  print(`  plan: ${file}; replay: npm run sim -- --plan ${file} --verbose`);
  const traced = simulated.run(plan, { trace: true, stopAt: ({ check }) => check === failure.check });
  const same = traced.failures.find(({ check }) => check === failure.check) ?? failure;
  if (options.keep !== undefined) keep(options.keep, plan, failure);
  print(`${formatPlan(plan)}\n${formatTrace(linesAbout(traced.trace, same))}`);
}

const sizeOf = ({ transactions, suspendAfter }: SimOptions): PlanSize => ({
  transactions,
  suspendAfterMs: suspendAfter ?? 'drawn',
});

const sizeFlag = ({ transactions, suspendAfter }: SimOptions): string =>
  (transactions === DEFAULT_SIZE.transactions ? '' : ` --transactions ${transactions}`) +
  (suspendAfter === undefined ? '' : ` --suspend-after ${suspendAfter}`);

function smaller(simulated: SimulatedProtocol, { plan, failures }: Result): Plan {
  const { check } = failures[0]!;
  const endMs = performance.now() + SHRINK_MS;
  const isSame = (failure: Failure): boolean => failure.check === check;
  const fails = (candidate: Plan): boolean => simulated.run(candidate, { stopAt: isSame }).failures.some(isSame);
  return shrink(plan, fails, { goesOn: () => performance.now() < endMs });
}

function savePlan(plan: Plan, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${plan.protocol}-${plan.seed}.json`);
  writeFileSync(file, `${JSON.stringify(plan)}\n`);
  return file;
}

const statsOf = ({ steps, virtualMs, transactions, committed, unknown, aborted, faults, crashes }: Summary): string =>
  `${transactions} transactions (${committed} committed, ${aborted} aborted, ${unknown} unknown), ` +
  `${faults} faults, ${crashes} crashes, ${steps} steps, ${(virtualMs / 1000).toFixed(1)} virtual s`;
