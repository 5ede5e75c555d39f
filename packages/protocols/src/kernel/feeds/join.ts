/** Joins the logs of partitions to transactions in the total order (CF1). */
import type { KeyWrite, QualifiedKey, Timestamp, TxId } from '@isochron/core';
import type { ChangedTx } from './messages.js';
import { changeBytes, type LogRangePage } from './pages.js';

/** The transactions up to a timestamp. */
export interface Joined {
  readonly to: Timestamp;
  readonly transactions: readonly ChangedTx[];
}

/**
 * The transactions after a timestamp up to the end of the shortest page. A transaction has the same `ct` in all its
 * partitions, so none is cut.
 *
 * @param pages one for each partition of the scope, each with `after` in it
 * @param limitBytes the result ends with the group that reaches this
 */
export function join(
  pages: readonly LogRangePage[],
  after: Timestamp,
  prefix: QualifiedKey,
  limitBytes: number,
): Joined {
  const end = Math.min(...pages.map(({ upTo }) => upTo));
  const found = new Map<TxId, { txId: TxId; ct: Timestamp; writes: KeyWrite[] }>();
  for (const { changes } of pages) {
    for (const { ct, tx } of changes) {
      if (ct <= after || ct > end) continue;
      const writes = tx.writes.filter(({ key }) => key.startsWith(prefix));
      if (writes.length === 0) continue;
      const known = found.get(tx.txId);
      if (known === undefined) found.set(tx.txId, { txId: tx.txId, ct, writes });
      else known.writes.push(...writes);
    }
  }
  const all = [...found.values()].sort((a, b) => a.ct - b.ct || (a.txId < b.txId ? -1 : 1));
  return cut(all, end, limitBytes);
}

/** Cut between groups: a cursor names a timestamp, so all transactions of one are in one message. */
function cut(all: readonly ChangedTx[], end: Timestamp, limitBytes: number): Joined {
  let bytes = 0;
  for (const [i, tx] of all.entries()) {
    const last = all[i - 1]?.ct;
    if (bytes >= limitBytes && last !== undefined && tx.ct !== last) return { to: last, transactions: all.slice(0, i) };
    bytes += changeBytes({ tx });
  }
  return { to: end, transactions: all };
}
