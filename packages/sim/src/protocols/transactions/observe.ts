/** What the messages of interactive transactions say, in the words of the checks. */
import type { Version } from '@isochron/core';
import type { Address, TransactionMessage } from '@isochron/protocols';
import type { Observations } from '../../checks/observations.js';
import { saidOfReplication } from '../kernel.js';

/**
 * Promises, at the moment at which somebody else may hear them.
 * @param stableSnapshots what a client is given as a snapshot is installed everywhere
 */
export function said(
  message: TransactionMessage,
  from: Address,
  to: Address,
  tell: Observations,
  stableSnapshots: boolean,
): void {
  const { node } = from;
  switch (message.type) {
    case 'PrepareResp':
      tell.prepared(node, message.partition, message.txId, message.attempt, message.pt);
      return;
    case 'ResolveResp':
      if (message.state === 'prepared')
        tell.prepared(node, message.partition, message.txId, message.attempt, message.ts);
      else if (message.state === 'aborted') tell.aborted(node, message.txId, message.attempt);
      else if (message.state === 'committed') tell.committed(node, message.txId, null, message.ts);
      return;
    case 'PrepareRefused':
      if (message.code === 'TRANSACTION_ABORTED') tell.aborted(node, message.txId, message.attempt);
      return;
    case 'CommitTx':
      tell.committed(node, message.txId, message.attempt, message.ct);
      return;
    case 'AbortTx':
      tell.aborted(node, message.txId, message.attempt);
      return;
    case 'Heartbeat':
    case 'Heartbeats':
    case 'Replicate':
    case 'GossipDown':
      saidOfReplication(message, from, to, tell);
      return;
    case 'ReadSliceResp':
      tell.revealed(node, message.partition, present(message.versions));
      return;
    case 'ListSliceResp':
      tell.revealed(node, message.partition, present(message.entries.map(({ version }) => version)));
      return;
    case 'WaitedRead':
      tell.waited(node, message.request.partition, message.request);
      return;
    case 'StartTxResp':
    case 'ReadResp':
    case 'ListResp':
      if (stableSnapshots) tell.stable(node, message.snapshot);
      return;
  }
}

const present = (versions: readonly (Version | null)[]): readonly Version[] =>
  versions.filter((version) => version !== null);

/** What replicas answer to reads. */
export function answering(
  message: TransactionMessage,
  cause: TransactionMessage,
  { node }: Address,
  tell: Observations,
): void {
  const request = cause.type === 'WaitedRead' ? cause.request : cause;
  if (message.type === 'ReadSliceResp' && request.type === 'ReadSliceReq') {
    const { partition, keys, snapshot: ts, deps } = request;
    tell.slice(node, partition, { ts, deps }, keys, message.versions);
  } else if (message.type === 'ListSliceResp' && request.type === 'ListSliceReq') {
    const { partition, range, snapshot: ts, deps } = request;
    tell.listed(node, partition, { ts, deps }, { ...range, entries: message.entries, next: message.next });
  }
}
