/** Failures as text for people. */
import type { Failure } from '../checks/check.js';
import type { Plan } from '../plan/plan.js';
import type { Result } from './result.js';
import { formatLine, type TraceLine } from './trace.js';

/** The most lines of a trace that are shown. */
const TRACE_LINES = 120;

/** One line per failure. */
export function formatFailures({ seed, failures }: Pick<Result, 'seed' | 'failures'>): string {
  return failures.map((failure) => formatFailure(seed, failure)).join('\n');
}

const formatFailure = (seed: number, { check, kind, message, step, atMs }: Failure): string =>
  `seed ${seed}: ${kind.toUpperCase()} ${check} at step ${step}, ${atMs.toFixed(1)} ms\n  ${message.split('\n', 1)[0]}`;

/** The content of a plan, in a few lines. */
export function formatPlan(plan: Plan): string {
  const { cluster, environment, sessions, faults, settings } = plan;
  const regions = cluster.regions.map(({ id, nodes }) => `${id} (${nodes.length})`).join(', ');
  const keyspaces = cluster.keyspaces.map(
    ({ name, partitions, replication, regions: pinned }) =>
      `${name}: ${partitions} partitions ${pinned === undefined ? `in ${replication} regions each` : `in ${pinned.join(', ')}`}`,
  );
  const transactions = sessions.reduce((sum, session) => sum + session.transactions.length, 0);
  return [
    `  regions     ${regions}`,
    `  keyspaces   ${keyspaces.join('; ')}`,
    `  settings    ${pairs(settings)}`,
    `  world       ${pairs(environment)}`,
    `  sessions    ${sessions.length} with ${transactions} transactions, at most ${plan.safetyMs} ms`,
    ...(plan.readers ?? []).map((reader) => `  reader      ${pairs(reader)}`),
    ...faults.map((fault, i) => `  ${i === 0 ? 'faults     ' : '           '} ${JSON.stringify(fault)}`),
  ].join('\n');
}

const pairs = (object: object): string =>
  Object.entries(object)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(' ');

/** The lines of a trace that lead to a failure: faults, and lines with a name from the failure. */
export function linesAbout(trace: readonly TraceLine[], failure: Failure): readonly TraceLine[] {
  const { step, about } = failure;
  const names = about.filter((name) => !/-\d$/.test(name));
  const chosen = trace.filter(
    (line) =>
      line.step <= step &&
      (line.where === 'fault' ||
        line.where === 'check' ||
        names.some((name) => line.text.includes(name)) ||
        /^(starts|crashes)$/.test(line.text) ||
        line.step === step),
  );
  return chosen.slice(-TRACE_LINES);
}

/** A trace as text, long lines cut. */
export const formatTrace = (lines: readonly TraceLine[], width = 260): string =>
  lines
    .map(formatLine)
    .map((line) => (line.length > width ? `${line.slice(0, width)}…` : line))
    .join('\n');
