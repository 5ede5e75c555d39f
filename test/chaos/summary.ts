/** A run's figures as a table for people, and its violations below it. */
import type { Verdict } from '@isochron/checker';
import Table from 'cli-table3';
import type { Converged } from './convergence.js';
import { type Report, violationsOf } from './verdict.js';

/** How many violations of each kind are shown. */
const SHOWN = 5;
/** Lines between rows would double the table. */
const CHARS = { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' };

/** The results of a run. */
export function summaryOf(report: Report): string {
  const table = new Table({ head: ['what', 'figure'], style: { head: [], border: [], compact: true }, chars: CHARS });
  for (const row of rowsOf(report)) table.push([...row]);
  return [`${report.scenario}, seed ${report.seed}`, table.toString(), ...complaintsOf(report)].join('\n');
}

function rowsOf(report: Report): (readonly [string, string])[] {
  const { tally, audit, history, faults, convergence, figures } = report;
  const { committed, aborted, unknown } = tally.outcomes;
  const errors = Object.entries(tally.errors).map(([code, count]) => `${code} ${count}`);
  const faultCounts = Object.entries(faults).map(([kind, count]) => `${kind} ${count}`);
  const resolved = audit?.resolved;
  return [
    [
      'transactions',
      `${committed + aborted + unknown}: ${committed} committed, ${aborted} aborted, ${unknown} unknown`,
    ],
    ['errors that sessions met', errors.join(', ') || 'none'],
    ['faults', faultCounts.join(', ') || 'none'],
    ...figures,
    ['writes looked for in every region', `${tally.ledger.length} transactions`],
    [
      'of those with unknown outcome',
      resolved === undefined ? 'not looked for' : `${resolved.committed} happened, ${resolved.aborted} did not`,
    ],
    ['history', historyText(history)],
    ...Object.entries(violationsOf(report)).map(([what, found]): [string, string] => [what, countOf(found)]),
    ['converged after the last fault in', convergence === undefined ? 'NEVER' : convergenceText(convergence)],
  ];
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const convergenceText = ({ answeredMs, convergedMs }: Converged): string =>
  `${seconds(convergedMs)}, of which ${seconds(answeredMs)} until every process answered`;

const historyText = ({ stats }: Verdict): string =>
  `${stats.transactions} transactions, ${stats.reads} reads, ${stats.writes} writes`;

/** A check that did not run is not shown as zero. */
const countOf = (found: readonly string[] | undefined): string =>
  found === undefined ? 'not looked for' : String(found.length);

function complaintsOf(report: Report): string[] {
  const lines = Object.entries(violationsOf(report)).flatMap(([what, found = []]) => {
    if (found.length === 0) return [];
    const shown = found.slice(0, SHOWN).map((sentence) => `  ${sentence.trimEnd().replaceAll('\n', '\n  ')}`);
    return [`${what}:`, ...shown, ...(found.length > SHOWN ? [`  and ${found.length - SHOWN} more`] : [])];
  });
  return report.notConverged === undefined ? lines : [...lines, 'not converged:', `  ${report.notConverged}`];
}
