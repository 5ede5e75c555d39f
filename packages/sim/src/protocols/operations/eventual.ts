import { eventual as protocol } from '@isochron/protocols';
import { NOT_CAUSAL, operationAdapter } from './adapter.js';

/** No snapshots, no dependencies: a read sees the newest versions that its replica has. */
export const eventual = operationAdapter({
  protocol,
  clocks: 'physical',
  promises: NOT_CAUSAL,
  readsWait: 'for-lost-data',
});
