/** What PaRiS' messages say, in the words of the checks. */
import type { Address, ParisMessage } from '@isochron/protocols';
import type { Observations } from '../../checks/observations.js';

/** Promises, at the moment at which somebody else may hear them. */
export function said(message: ParisMessage, { node }: Address, to: Address, tell: Observations): void {
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
      tell.published(node, message.partition, message.to);
      return;
    case 'Replicate':
      tell.replicated(node, message.partition, message.groups);
      tell.published(node, message.partition, message.to);
      return;
    case 'GossipDown':
      tell.stable(node, message.ust);
      tell.announced(node, to.node, message.ust);
      return;
    case 'StartTxResp':
    case 'ReadResp':
    case 'ListResp':
      tell.stable(node, message.snapshot);
      return;
  }
}

/** What replicas answer to reads. */
export function answering(message: ParisMessage, cause: ParisMessage, { node }: Address, tell: Observations): void {
  if (message.type === 'ReadSliceResp' && cause.type === 'ReadSliceReq') {
    tell.slice(node, cause.partition, cause.snapshot, cause.keys, message.versions);
  } else if (message.type === 'ListSliceResp' && cause.type === 'ListSliceReq') {
    const { range, snapshot, partition } = cause;
    tell.listed(node, partition, snapshot, { ...range, entries: message.entries, next: message.next });
  }
}
