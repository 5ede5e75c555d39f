import { ccLo as protocol } from '@isochron/protocols';
import { CAUSAL, operationAdapter } from './adapter.js';
import { RACES } from './races.js';

/** Read-only transactions of one round; PUTs find out first which of them must not see the new version. */
export const ccLo = operationAdapter({
  protocol,
  clocks: 'hybrid',
  promises: CAUSAL,
  readsWait: 'for-lost-data',
  waitsForVersions: true,
  plans: RACES,
  ownMessages: ['DepCheckReq', 'DepCheckResp', 'ReadersCheckReq', 'ReadersCheckResp'],
});
