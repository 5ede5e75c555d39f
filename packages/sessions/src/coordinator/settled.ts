/** Ends commits whose outcome their client does not know (OF3). */
import { IsochronError, type Timestamp } from '@isochron/core';
import type { CoordinatorPort, CoordinatorRequest } from './coordinator-port.js';
import type { PlacedCommit } from './outcomes.js';
import type { Done } from './request-port.js';

/** A definite end: a commit, or null for a transaction that has no effect, and never will. */
export type SettledCommit = PlacedCommit | null;

type SettleRequest = Omit<CoordinatorRequest<'SettleCommitReq'>, 'type'>;

/**
 * Ends with the outcome. While an attempt is undecided, the error is OUTCOME_PENDING. A transaction that a map has
 * deferred has perhaps been committed again, by a node that returned: then any replica knows the timestamp (M8).
 */
export function settleThrough(port: CoordinatorPort, request: SettleRequest, done: Done<SettledCommit>): void {
  port.ask({ type: 'SettleCommitReq', ...request }, (result) => {
    if (!(result instanceof IsochronError)) {
      const { ct, nodes, map, upTo } = result;
      done(ct === null ? null : { ts: ct, nodes, map, upTo });
    } else if (result.code !== 'OUTCOME_PENDING') done(result);
    else
      port.ask({ type: 'TxStatusReq', txId: request.txId }, (status) => {
        const isCommitted = !(status instanceof IsochronError) && status.status === 'committed';
        done(isCommitted ? { ts: status.ts as Timestamp } : result);
      });
  });
}
