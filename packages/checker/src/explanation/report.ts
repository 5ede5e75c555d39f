import { quote } from '../input/history.js';
import { GUARANTEES, type Guarantee } from '../rules/guarantees.js';
import type { Stats, Step, TransactionRef, Verdict, Violation } from './violations.js';

/** The verdict as text for people. `name` is the name of the history, `demands` the level that it was judged by. */
export function formatVerdict(
  name: string,
  verdict: Verdict,
  elapsedMs: number,
  demands: readonly Guarantee[] = GUARANTEES,
): string {
  const lines = [formatOutcome(name, verdict), formatStats(verdict.stats, elapsedMs), ''];
  for (const guarantee of GUARANTEES) lines.push(formatJudgement(guarantee, verdict, demands));
  for (const [i, violation] of verdict.violations.entries()) lines.push('', ...formatViolation(violation, i + 1));
  return `${lines.join('\n')}\n`;
}

function formatOutcome(name: string, { ok, found, violations }: Verdict): string {
  if (ok) return `${name}: OK, nothing that was demanded is violated`;
  const shown = found > violations.length ? ` (${violations.length} of them are shown)` : '';
  return `${name}: NOT OK, ${plural(found, 'violation')}${shown}`;
}

function formatStats(stats: Stats, elapsedMs: number): string {
  const ends = [`${stats.committed} committed`];
  if (stats.aborted > 0) ends.push(`${stats.aborted} aborted`);
  if (stats.unknown > 0) ends.push(`${stats.unknown} unknown, ${stats.observedUnknown} of them observed`);
  const replicas = stats.replicas > 0 ? `final states of ${plural(stats.replicas, 'replica')}, ` : '';
  return (
    `  ${plural(stats.sessions, 'session')}, ${plural(stats.transactions, 'transaction')} (${ends.join(', ')}), ` +
    `${plural(stats.reads, 'read')} and ${plural(stats.writes, 'write')} of ${plural(stats.keys, 'key')}, ${replicas}` +
    `${(elapsedMs / 1000).toFixed(2)} s`
  );
}

function formatJudgement(guarantee: Guarantee, { guarantees }: Verdict, demands: readonly Guarantee[]): string {
  const judgement = guarantees[guarantee];
  const labels = {
    holds: 'holds',
    violated: 'VIOLATED',
    'not-judged': 'not judged: the final states do not show it',
  }[judgement];
  return `  ${guarantee.padEnd(WIDTH)} ${labels}${demands.includes(guarantee) ? '' : ' (not demanded)'}`;
}

const WIDTH = Math.max(...GUARANTEES.map((guarantee) => guarantee.length));

function formatViolation(violation: Violation, number: number): string[] {
  const lines = [`${number}. ${violation.name}`, `   ${violation.message}`];
  for (const step of violation.cycle) lines.push(...formatStep(step, '   '));
  lines.push(`   breaks: ${violation.breaks.join(', ')}`);
  lines.push(`   keys: ${violation.keys.map(quote).join(', ')}`);
  if (violation.sessions.length > 0) lines.push(`   sessions: ${violation.sessions.map(unquoted).join(', ')}`);
  if (violation.transactions.length > 0) {
    lines.push(`   transactions: ${violation.transactions.map(formatRef).join(', ')}`);
  }
  return lines;
}

function formatStep(step: Step, indent: string): string[] {
  return [`${indent}- ${step.text}`, ...step.because.flatMap((inner) => formatStep(inner, `${indent}  `))];
}

function formatRef(ref: TransactionRef): string {
  if (ref.status === 'final-state') return `final state (line ${ref.line})`;
  const op = ref.op === null ? '' : `[${ref.op}]`;
  return `${unquoted(ref.session)}#${ref.seq}${op} (${unquoted(ref.tx)}, ${ref.status}, line ${ref.line})`;
}

const unquoted = (text: string): string => quote(text).slice(1, -1);
const plural = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
