import { BprSession, bpr as protocol } from '@isochron/protocols';
import { UP_TO_A_TIMESTAMP } from '../../checks/visibility.js';
import { transactionAdapter } from './adapter.js';

/** Snapshots are one timestamp, as fresh as the coordinator's clock: replicas let reads wait for it. */
export const bpr = transactionAdapter({
  protocol,
  createSession: (id, state) => new BprSession(id, state),
  replication: 'partial',
  clocks: 'hybrid',
  stableSnapshots: false,
  readsWait: true,
  visibility: () => UP_TO_A_TIMESTAMP,
  causal: true,
});
