import { CureSession, cure as protocol } from '@isochron/protocols';
import { vectorVisibility } from '../vector-visibility.js';
import { transactionAdapter } from './adapter.js';

/** Snapshots have an entry for each region; the own one is the coordinator's physical clock, and replicas let reads wait for theirs. */
export const cure = transactionAdapter({
  protocol,
  createSession: (id, state) => new CureSession(id, state),
  replication: 'full',
  clocks: 'physical',
  stableSnapshots: false,
  readsWait: true,
  visibility: vectorVisibility,
  causal: true,
});
