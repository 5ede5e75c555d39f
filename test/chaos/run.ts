/** A run from start to end: cluster, sessions, faults, healing, and the checks afterwards. */
import { appendFileSync, cpSync, createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { HistoryRecorder } from '@isochron/workload';
import { ChaosCluster, type ChaosClusterOptions } from './cluster.js';
import { type Contents, contents, converged, differences, NotConverged, outcomes } from './convergence.js';
import type { Fault, FaultKind } from './faults.js';
import type { Tally } from './tally.js';
import { auditAll, disputes, EXIT, exitCodeOf, judge, type Report } from './verdict.js';
import { FROZEN_PREFIX } from './writes-go-on.js';

const CONVERGENCE_LIMIT_MS = 180_000;

/** The options of every scenario. */
export interface RunOptions {
  readonly seed: number;
  readonly cluster: ChaosClusterOptions;
  /** History, logs and schedule go here. */
  readonly folder: string;
  /** Limit of the time of convergence, in ms. The time itself is reported, not judged. Default 3 minutes. */
  readonly limitMs?: number;
  /** Called with a few words about the present step. */
  readonly onStep: (text: string) => void;
}

/** The steps between the start of the cluster and its healing. */
export interface Scenario {
  readonly name: string;
  /** Runs its load and its faults; resolves when the faults are over, with the load still going on. */
  readonly load: (cluster: ChaosCluster, recorder: HistoryRecorder) => Promise<Load>;
}

/** A load that goes on until `stop`. */
export interface Load {
  readonly tally: Tally;
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** Ends all faults. */
  readonly heal: () => Promise<void>;
  /** Ends all sessions; resolves when the last one has. */
  readonly stop: () => Promise<void>;
  /** After the end of all sessions: compares what readers have with the contents of the cluster. */
  readonly compare: (found: Contents) => Promise<void>;
  /** Ends the readers, after `stop`. */
  readonly close: () => Promise<void>;
  /** The scenario's own lines of the table, at the end. */
  readonly figures: () => readonly (readonly [what: string, figure: string])[];
  /** Violations that only this scenario looks for. */
  readonly violations: () => Readonly<Record<string, readonly string[]>>;
}

/**
 * Runs a scenario and judges its results.
 * @throws the error of the run itself
 */
export async function run(scenario: Scenario, options: RunOptions): Promise<Report> {
  mkdirSync(options.folder, { recursive: true });
  const cluster = await ChaosCluster.start(options.cluster);
  try {
    const report = await runOn(cluster, scenario, options);
    // Only a run with findings is kept for inspection.
    if (exitCodeOf(report) !== EXIT.fine)
      cpSync(cluster.cluster.folder, join(options.folder, 'data'), { recursive: true });
    return report;
  } finally {
    cluster.writeLogs(options.folder);
    await cluster.dispose();
  }
}

async function runOn(cluster: ChaosCluster, scenario: Scenario, options: RunOptions): Promise<Report> {
  const file = join(options.folder, 'history.jsonl');
  const stream = createWriteStream(file);
  const recorder = new HistoryRecorder(stream);
  const load = await scenario.load(cluster, recorder);
  let end: End;
  try {
    end = await endOf(cluster, load, recorder, options);
  } finally {
    await load.stop();
    await load.close();
    recorder.close();
    stream.end();
    await finished(stream);
  }
  if (end.convergence !== undefined) await cluster.stop();
  options.onStep('checking the history');
  const { tally, faults } = load;
  const history = await judge(file);
  return {
    scenario: scenario.name,
    seed: options.seed,
    tally,
    faults,
    history,
    failures: cluster.failures,
    figures: load.figures(),
    violations: load.violations(),
    ...end,
  };
}

/** The final state of a cluster. */
type End = Pick<Report, 'convergence' | 'notConverged' | 'contents' | 'audit' | 'differences' | 'disputed' | 'ahead'>;

async function endOf(
  cluster: ChaosCluster,
  load: Load,
  recorder: HistoryRecorder,
  { onStep, limitMs = CONVERGENCE_LIMIT_MS }: RunOptions,
): Promise<End> {
  const { tally } = load;
  try {
    onStep('healing');
    await load.heal();
    const convergence = await converged(cluster, limitMs, tally.greatest);
    onStep('ending sessions');
    await load.stop();
    onStep('reading everything back');
    const { at } = await converged(cluster, limitMs, tally.greatest);
    const found = await contents(cluster, at);
    await load.compare(found);
    recordContents(recorder, tally, found);
    const answers = await outcomes(cluster, tally.unknown);
    const disputed = disputes(answers, tally.ledger, [...found.values()][0]);
    const ahead = await cluster.clocksFromTheFuture();
    const judged = { audit: auditAll(tally, found), differences: differences(found), disputed, ahead };
    return { convergence, contents: found, ...judged };
  } catch (error) {
    if (!(error instanceof NotConverged)) throw error;
    const { message } = error;
    return {
      convergence: undefined,
      notConverged: message,
      contents: undefined,
      audit: undefined,
      differences: undefined,
      disputed: undefined,
      ahead: undefined,
    };
  }
}

/** The final state is part of the history: one more session in each region that reads every key ever written. */
function recordContents(recorder: HistoryRecorder, tally: Tally, regions: Contents): void {
  for (const [region, found] of regions) {
    const open = recorder.session(`final/${region}`).begin();
    const keys = new Set([...found.keys(), ...tally.ledger.flatMap(({ writes }) => [...writes.keys()])]);
    for (const key of keys)
      if (!key.startsWith(FROZEN_PREFIX)) open.read(key, (found.get(key) as string | undefined) ?? null);
    open.committed();
  }
}

/** Writes a schedule for people, one fault on a line. */
export function writeSchedule(folder: string, steps: readonly { readonly fault: Fault }[]): void {
  writeFileSync(join(folder, 'schedule.jsonl'), steps.map((step) => `${JSON.stringify(step)}\n`).join(''));
}

/** Records when faults began and ended by the wall clock, to read beside the logs. */
export function eventWriter(folder: string): (what: 'begins' | 'ends', fault: Fault) => void {
  const file = join(folder, 'events.jsonl');
  writeFileSync(file, '');
  return (what, fault) => appendFileSync(file, `${JSON.stringify({ time: Date.now(), what, fault })}\n`);
}
