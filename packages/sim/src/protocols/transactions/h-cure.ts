import { HCureSession, hCure as protocol } from '@isochron/protocols';
import { vectorVisibility } from '../vector-visibility.js';
import { transactionAdapter } from './adapter.js';

/** Cure with hybrid clocks: reads wait for pending transactions alone. */
export const hCure = transactionAdapter({
  protocol,
  createSession: (id, state) => new HCureSession(id, state),
  replication: 'full',
  clocks: 'hybrid',
  stableSnapshots: false,
  readsWait: true,
  visibility: vectorVisibility,
  causal: true,
});
