import { quote } from './history.js';
import type { Stats, Step, TransactionRef, Verdict, Violation } from './violations.js';

/** The verdict as text for people. `name` says what was checked. */
export function formatVerdict(name: string, verdict: Verdict, elapsedMs: number): string {
  const lines = verdict.ok
    ? [`${name}: causally consistent`]
    : [
        `${name}: NOT causally consistent, ${plural(verdict.found, 'violation')}${
          verdict.found > verdict.violations.length ? ` (the first ${verdict.violations.length} are shown)` : ''
        }`,
      ];
  lines.push(formatStats(verdict.stats, elapsedMs));
  const violations = verdict.ok ? [] : verdict.violations;
  for (const [i, violation] of violations.entries()) lines.push('', ...formatViolation(violation, i + 1));
  return `${lines.join('\n')}\n`;
}

function formatStats(stats: Stats, elapsedMs: number): string {
  const ends = [`${stats.committed} committed`];
  if (stats.aborted > 0) ends.push(`${stats.aborted} aborted`);
  if (stats.unknown > 0) ends.push(`${stats.unknown} unknown, ${stats.observedUnknown} of them observed`);
  return (
    `  ${plural(stats.sessions, 'session')}, ${plural(stats.transactions, 'transaction')} (${ends.join(', ')}), ` +
    `${plural(stats.reads, 'read')} and ${plural(stats.writes, 'write')} of ${plural(stats.keys, 'key')}, ` +
    `${(elapsedMs / 1000).toFixed(2)} s`
  );
}

function formatViolation(violation: Violation, number: number): string[] {
  const lines = [`${number}. ${violation.name}`, `   ${violation.message}`];
  for (const step of violation.cycle) lines.push(...formatStep(step, '   '));
  lines.push(`   transactions: ${violation.transactions.map(formatRef).join(', ')}`);
  return lines;
}

function formatStep(step: Step, indent: string): string[] {
  return [`${indent}- ${step.text}`, ...step.because.flatMap((inner) => formatStep(inner, `${indent}  `))];
}

const formatRef = (ref: TransactionRef): string =>
  `${unquoted(ref.session)}#${ref.seq} (${unquoted(ref.tx)}, ${ref.status}, line ${ref.line})`;
const unquoted = (text: string): string => quote(text).slice(1, -1);
const plural = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
