import { elementsOf } from '@isochron/protocols';
import type { SimulatedComplete } from './simulated.js';

/**
 * Reported by a completion, and by an answer that leaves out of its client's matrix the version that it shows (section
 * 6.2).
 */
export const orbeCompletion: SimulatedComplete = (message, question, { regions }) => {
  if (message.type === 'ReplicationComplete') return message;
  if (message.type !== 'GetSliceResp' || question?.type !== 'GetSliceReq' || message.version === null) return undefined;
  const { partition } = question;
  const { region, ts } = message.version;
  const remembered = elementsOf(message.seen).some(
    (element) => element.partition === partition && regions[element.region] === region && element.ts >= ts,
  );
  return remembered ? undefined : { partition, region, upTo: ts };
};
