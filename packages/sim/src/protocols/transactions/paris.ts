import { ParisSession, paris as protocol } from '@isochron/protocols';
import { UP_TO_A_TIMESTAMP } from '../../checks/visibility.js';
import { transactionAdapter } from './adapter.js';

/** Snapshots are the universal stable time. */
export const paris = transactionAdapter({
  protocol,
  createSession: (id, state) => new ParisSession(id, state),
  replication: 'partial',
  clocks: 'hybrid',
  stableSnapshots: true,
  readsWait: false,
  visibility: () => UP_TO_A_TIMESTAMP,
  causal: true,
});
