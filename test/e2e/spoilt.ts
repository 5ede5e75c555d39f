/**
 * Recorded histories with an error, to show that the checker detects it. Only committed transactions are changed: the
 * reads of others have no guarantees, and a write of unknown outcome may take effect after those that follow it.
 */
import type { HistoryLine } from '@isochron/workload';

const replaced = (history: readonly HistoryLine[], at: number, op: number, v: string | null): HistoryLine[] =>
  history.map((line, i) =>
    i === at ? { ...line, ops: line.ops.map((old, j) => (j === op ? { ...old, v } : old)) } : line,
  );

/** In one read of a key that its session wrote twice before, the second value becomes the first. */
export function withStaleRead(history: readonly HistoryLine[]): HistoryLine[] {
  const written = new Map<string, string[]>();
  for (const [at, { session, ops, status }] of history.entries()) {
    if (status !== 'committed') continue;
    for (const [i, { f, k, v }] of ops.entries()) {
      const own = written.get(`${session} ${k}`) ?? [];
      const writesItself = ops.some((other) => other.f === 'w' && other.k === k);
      if (f === 'r' && own.length >= 2 && v === own.at(-1) && !writesItself)
        return replaced(history, at, i, own.at(-2)!);
    }
    for (const { f, k, v } of ops) {
      if (f !== 'w' || v === null) continue;
      const key = `${session} ${k}`;
      written.set(key, [...(written.get(key) ?? []), v]);
    }
  }
  throw new Error('no session read a key that it had written twice');
}

/** In a transaction that read two writes of another one, the second read gets the value that the writer read there. */
export function withFracturedRead(history: readonly HistoryLine[]): HistoryLine[] {
  const writers = new Map<string, HistoryLine>();
  for (const line of history) for (const { f, v } of line.ops) if (f === 'w' && v !== null) writers.set(v, line);
  for (const [at, { session, ops, status }] of history.entries()) {
    if (status !== 'committed') continue;
    const reads = ops.map((op, i) => ({ ...op, i, from: op.v === null ? undefined : writers.get(op.v) }));
    for (const second of reads) {
      if (second.f !== 'r' || second.from === undefined || second.from.session === session) continue;
      const first = reads.find((op) => op.f === 'r' && op.k !== second.k && op.from === second.from);
      const older = second.from.ops.find(
        (op) => op.f === 'r' && op.k === second.k && op.v !== null && op.v !== second.v,
      );
      if (first !== undefined && older !== undefined) return replaced(history, at, second.i, older.v);
    }
  }
  throw new Error('no transaction read two writes of another one');
}
