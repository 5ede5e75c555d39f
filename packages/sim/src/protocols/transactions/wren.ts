import { wren as protocol, WrenSession } from '@isochron/protocols';
import { transactionAdapter } from './adapter.js';
import { wrenVisibility } from './wren-visibility.js';

/** Snapshots are two timestamps: one of the region that assigns them, and one of all the others. */
export const wren = transactionAdapter({
  protocol,
  createSession: (id, state) => new WrenSession(id, state),
  replication: 'full',
  clocks: 'hybrid',
  stableSnapshots: false,
  readsWait: false,
  visibility: wrenVisibility,
  causal: true,
});
