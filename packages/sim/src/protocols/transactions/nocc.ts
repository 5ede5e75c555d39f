import { NoccSession, nocc as protocol } from '@isochron/protocols';
import { transactionAdapter } from './adapter.js';

/** No snapshots: a read sees the newest versions that its replica has. */
export const nocc = transactionAdapter({
  protocol,
  createSession: (id, state) => new NoccSession(id, state),
  replication: 'partial',
  clocks: 'hybrid',
  stableSnapshots: false,
  readsWait: false,
  visibility: undefined,
  causal: false,
});
