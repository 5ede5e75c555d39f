/**
 * The end of a commit that access rules refuse (AR2): the commit leaves nothing, unless it has taken effect before. The
 * commit is never passed on: a cohort knows an id only if it wrote there, and would prepare other writes under the id.
 */
import { IsochronError, type NodeId } from '@isochron/core';
import type { CommitReq, CommitResp } from '@isochron/protocols';
import type { CoordinatorPort } from '../coordinator/coordinator-port.js';
import type { Done, Unreferenced } from '../coordinator/request-port.js';
import { settleThrough } from '../coordinator/settled.js';

/** Ends with the outcome of a commit that has taken effect, with OUTCOME_PENDING while it may, or with the refusal. */
export function endRefused(
  port: CoordinatorPort,
  request: Unreferenced<CommitReq>,
  error: IsochronError,
  done: Done<CommitResp>,
  coordinator: NodeId | undefined,
): void {
  const isFinal = error.code === 'PERMISSION_DENIED';
  if (isFinal && request.queue !== undefined) {
    settleRefused(port, { ...request, queue: request.queue }, error, done, coordinator);
    return;
  }
  const { txId } = request;
  port.ask(
    { type: 'TxStatusReq', txId },
    (result) => {
      if (!(result instanceof IsochronError)) {
        if (result.status === 'committed') {
          done({ type: 'CommitResp', ref: 0, txId, ct: result.ts! });
          return;
        }
        if (result.status === 'pending' || result.status === 'deferred') {
          done(new IsochronError('OUTCOME_PENDING', 'The outcome of this commit is not known yet. Send it again.'));
          return;
        }
      }
      if (isFinal) port.ask({ type: 'EndTxReq', txId }, () => undefined, coordinator);
      done(error);
    },
    coordinator,
  );
}

/** The refusal of a counted commit is definite (OF3): whatever outcomes are kept, no attempt has an effect, or will. */
function settleRefused(
  port: CoordinatorPort,
  request: Unreferenced<CommitReq> & { readonly queue: NonNullable<CommitReq['queue']> },
  error: IsochronError,
  done: Done<CommitResp>,
  coordinator: NodeId | undefined,
): void {
  const { txId, queue, sentAfter, attemptRegions, avoids, maps, principal } = request;
  const keys = request.writes.map(({ key }) => key);
  settleThrough(port, { txId, queue, sentAfter, attemptRegions, avoids, maps, principal, keys }, (end) => {
    if (end instanceof IsochronError) done(end);
    else if (end === null) {
      port.ask({ type: 'EndTxReq', txId }, () => undefined, coordinator);
      done(error);
    } else {
      const { ts: ct, nodes, map, upTo } = end;
      done({ type: 'CommitResp', ref: 0, txId, ct, nodes, map, upTo });
    }
  });
}
