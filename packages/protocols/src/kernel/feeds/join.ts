/** Joins the logs of partitions to transactions in the total order (CF1). */
import type { KeyWrite, Timestamp, TxId } from '@isochron/core';
import type { ChangedTx } from './messages.js';
import { changesFor, type LogRangePage } from './pages.js';
import type { ScopeUnion } from './scope.js';

/** The transactions up to a timestamp. */
export interface Joined {
  readonly to: Timestamp;
  readonly transactions: readonly ChangedTx[];
  /** Transactions of the pages that were looked at: the work. */
  readonly examined: number;
}

/**
 * The transactions after a timestamp up to the end of the shortest page. A transaction has the same `ct` in all its
 * partitions, so none is cut.
 *
 * @param pages one for each partition of the scope, at least one, each with `after` in it
 */
export function join(pages: readonly LogRangePage[], after: Timestamp, scope: ScopeUnion): Joined {
  const to = Math.min(...pages.map(({ upTo }) => upTo));
  const found = new Map<TxId, { txId: TxId; ct: Timestamp; writes: KeyWrite[] }>();
  let examined = 0;
  for (const page of pages) {
    for (const { ct, tx } of changesFor(page, after, scope)) {
      if (ct > to) break;
      examined++;
      const writes = tx.writes.filter(({ key }) => scope.has(key));
      if (writes.length === 0) continue;
      const known = found.get(tx.txId);
      if (known === undefined) found.set(tx.txId, { txId: tx.txId, ct, writes });
      else known.writes.push(...writes);
    }
  }
  const transactions = [...found.values()].sort((a, b) => a.ct - b.ct || (a.txId < b.txId ? -1 : 1));
  return { to, transactions, examined };
}
