import { elementsOf, orbeCleaning as protocol } from '@isochron/protocols';
import { CAUSAL_OPERATIONS, operationAdapter } from './adapter.js';
import { overtakingPlans } from './overtaking.js';
import type { SimulatedComplete } from './simulated.js';

/** A completion says it; so does an answer that leaves out of its client's matrix what it shows (section 6.2). */
const complete: SimulatedComplete = (message, question, { regions }) => {
  if (message.type === 'ReplicationComplete') return message;
  if (message.type !== 'GetSliceResp' || question?.type !== 'GetSliceReq' || message.version === null) return undefined;
  const { partition } = question;
  const { region, ts } = message.version;
  const remembered = elementsOf(message.seen).some(
    (element) => element.partition === partition && regions[element.region] === region && element.ts >= ts,
  );
  return remembered ? undefined : { partition, region, upTo: ts };
};

/** Orbe whose matrices leave out what every replica is known to have. */
export const orbeCleaning = operationAdapter({
  protocol,
  clocks: 'hybrid',
  promises: CAUSAL_OPERATIONS,
  readsWait: 'for-lost-data',
  waitsForVersions: true,
  complete,
  plans: overtakingPlans(0),
  ownMessages: ['DepCheckReq', 'DepCheckResp'],
});
