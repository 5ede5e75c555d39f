/** Verdicts as a table for a terminal. */
import Table from 'cli-table3';
import type { Caught } from './trial.js';
import type { Verdict } from './verdict.js';

const HEAD = ['mutant', 'breaks', 'caught by', 'at', 'allowed', 'from outside'];
/** Lines between rows would double the table. */
const CHARS = { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' };

/** One line for each mutant. */
export function renderTable(verdicts: readonly Verdict[]): string {
  const style = { head: [], border: [], compact: true };
  const table = new Table({ head: HEAD, style, chars: CHARS });
  for (const verdict of verdicts) table.push(cellsOf(verdict));
  return table.toString();
}

function cellsOf({ mutant, caught, outside, tried }: Verdict): string[] {
  const { name, breaks, seeds } = mutant;
  const allowed = seeds.count === 0 ? '' : `${seeds.count} seeds from ${seeds.from}`;
  if (caught === undefined) return [name, breaks, 'NOTHING', `after ${tried} runs`, allowed, ''];
  const beyond =
    outside === undefined ? 'nothing' : outside === caught ? '' : `${noticedBy(outside)}, ${whereOf(outside)}`;
  return [name, breaks, noticedBy(caught), whereOf(caught), allowed, beyond];
}

/** The check or the invariant of a machine that detected it first. */
export function noticedBy({ by: [{ check, kind, message }] }: Caught): string {
  if (kind !== 'crash') return check;
  const what = /^\S+: (\w+): /.exec(message)?.[1];
  return check === 'InvariantViolation' && what !== undefined ? `invariant ${what}` : `${check} thrown`;
}

/** The run that showed it. */
export function whereOf({ run, seed }: Caught): string {
  if ('script' in run) return '';
  return 'plan' in run ? `plan of seed ${seed}` : `seed ${seed}`;
}
