import type { FinalValue, HistoryRecord, Op, Status, Transaction } from '@isochron/checker/input/history';

/**
 * A history in short, for tests: one transaction a line, `session: op, op, …`. `x=1` writes, `x?1` reads, `-` is null,
 * for a read and for a write. `session(aborted):` and `session(unknown):` set the status. `final replica: x=1, y=-` is
 * what a replica holds in the end. A line that begins with `#` is a comment.
 */
export function textHistory(text: string): HistoryRecord[] {
  const seqs = new Map<string, number>();
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => recordOf(line, seqs));
}

/** The same for a history without final states. */
export const textTransactions = (text: string): Transaction[] => textHistory(text) as Transaction[];

function recordOf(line: string, seqs: Map<string, number>): HistoryRecord {
  const match = /^(final )?(\w+)(?:\((aborted|unknown)\))?:(.*)$/.exec(line);
  if (match === null) throw new Error(`not a line of a history: ${line}`);
  const [, final, name, status, rest] = match;
  const ops = rest!.trim() === '' ? [] : rest!.split(',').map((op) => opOf(op.trim()));
  if (final !== undefined) return { replica: name!, final: ops.map(({ k, v }): FinalValue => ({ k, v })) };
  const seq = seqs.get(name!) ?? 0;
  seqs.set(name!, seq + 1);
  return { session: name!, seq, tx: `${name}-${seq}`, status: (status ?? 'committed') as Status, ops };
}

function opOf(text: string): Op {
  const match = /^(\w+)([=?])(\w+|-)$/.exec(text);
  if (match === null) throw new Error(`not an operation: ${text}`);
  const [, k, sign, v] = match;
  return { f: sign === '=' ? 'w' : 'r', k: k!, v: v === '-' ? null : v! };
}
