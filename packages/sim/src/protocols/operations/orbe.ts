import { orbe as protocol } from '@isochron/protocols';
import { CAUSAL_OPERATIONS, operationAdapter } from './adapter.js';
import { overtakingPlans } from './overtaking.js';

/** Single operations alone; updates of other regions wait for what their matrix names. */
export const orbe = operationAdapter({
  protocol,
  clocks: 'hybrid',
  promises: CAUSAL_OPERATIONS,
  readsWait: 'for-lost-data',
  waitsForVersions: true,
  plans: overtakingPlans(0),
  ownMessages: ['DepCheckReq', 'DepCheckResp'],
});
