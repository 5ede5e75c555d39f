import { orbeClock as protocol } from '@isochron/protocols';
import { UP_TO_A_TIMESTAMP } from '../../checks/visibility.js';
import { CAUSAL, operationAdapter } from './adapter.js';
import { overtakingPlans } from './overtaking.js';

/** Orbe with physical clocks: a snapshot is one timestamp, which clocks and the other regions must have passed. */
export const orbeClock = operationAdapter({
  protocol,
  clocks: 'physical',
  promises: CAUSAL,
  readsWait: 'for-snapshots',
  waitsForVersions: true,
  snapshots: {
    visibility: () => UP_TO_A_TIMESTAMP,
    snapshot: ([st = 0]) => ({ ts: st }),
    closes: ([st = 0]) => st,
  },
  plans: overtakingPlans(6),
  ownMessages: ['DepCheckReq', 'DepCheckResp'],
});
