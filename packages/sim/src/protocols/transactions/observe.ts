/** The meaning of the messages of interactive transactions for the checks. */
import type { Version } from '@isochron/core';
import type { Address, TransactionMessage } from '@isochron/protocols';
import type { Observations } from '../../checks/evidence/observations.js';
import { observeReplication } from '../kernel.js';

/**
 * Promises, at the moment at which another machine may receive them.
 * @param stableSnapshots whether a client's snapshot is installed everywhere
 */
export function observeSend(
  message: TransactionMessage,
  from: Address,
  to: Address,
  observer: Observations,
  stableSnapshots: boolean,
): void {
  const { node } = from;
  switch (message.type) {
    case 'PrepareResp':
      observer.prepared(node, message.partition, message.txId, message.attempt, message.pt);
      return;
    case 'ResolveResp':
      if (message.state === 'prepared')
        observer.prepared(node, message.partition, message.txId, message.attempt, message.ts);
      else if (message.state === 'aborted') observer.aborted(node, message.txId, message.attempt);
      else if (message.state === 'committed') observer.committed(node, message.txId, null, message.ts);
      return;
    case 'PrepareRefused':
      if (message.code === 'TRANSACTION_ABORTED') observer.aborted(node, message.txId, message.attempt);
      return;
    case 'CommitTx':
      observer.committed(node, message.txId, message.attempt, message.ct);
      return;
    case 'AbortTx':
      observer.aborted(node, message.txId, message.attempt);
      return;
    case 'Heartbeat':
    case 'Heartbeats':
    case 'Replicate':
    case 'GossipDown':
      observeReplication(message, from, to, observer);
      return;
    case 'ReadSliceResp':
      observer.revealed(node, message.partition, present(message.versions));
      return;
    case 'ListSliceResp':
      observer.revealed(node, message.partition, present(message.entries.map(({ version }) => version)));
      return;
    case 'WaitedRead':
      observer.waited(node, message.request.partition, message.request);
      return;
    case 'StartTxResp':
    case 'ReadResp':
    case 'ListResp':
      if (stableSnapshots) observer.stable(node, message.snapshot);
      return;
  }
}

const present = (versions: readonly (Version | null)[]): readonly Version[] =>
  versions.filter((version) => version !== null);

/** The answers of replicas to reads. */
export function observeReply(
  message: TransactionMessage,
  cause: TransactionMessage,
  { node }: Address,
  observer: Observations,
): void {
  const request = cause.type === 'WaitedRead' ? cause.request : cause;
  if (message.type === 'ReadSliceResp' && request.type === 'ReadSliceReq') {
    const { partition, keys, snapshot: ts, deps } = request;
    observer.slice(node, partition, { ts, deps }, keys, message.versions);
  } else if (message.type === 'ListSliceResp' && request.type === 'ListSliceReq') {
    const { partition, range, snapshot: ts, deps } = request;
    observer.listed(node, partition, { ts, deps }, { ...range, entries: message.entries, next: message.next });
  }
}
