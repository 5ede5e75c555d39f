import { copsGt as protocol } from '@isochron/protocols';
import { CAUSAL, operationAdapter } from './adapter.js';
import { RACES } from './races.js';

/** Dependencies name keys; a read-only transaction asks a second time for what the first answers depend on. */
export const copsGt = operationAdapter({
  protocol,
  clocks: 'hybrid',
  promises: CAUSAL,
  readsWait: 'for-lost-data',
  waitsForVersions: true,
  plans: RACES,
  ownMessages: ['DepCheckReq', 'DepCheckResp'],
});
