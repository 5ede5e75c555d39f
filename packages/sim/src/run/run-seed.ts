import type { PlanSize } from '../plan/draw.js';
import type { Plan } from '../plan/plan.js';
import { PROTOCOLS } from '../protocols/index.js';
import type { Limits, Result } from './result.js';

/**
 * Runs a seed of a protocol, or a plan.
 * @throws RangeError for a protocol that is not simulated
 */
export function runSeed(protocol: string, seedOrPlan: number | Plan, limits: Limits = {}, size?: PlanSize): Result {
  const simulated = PROTOCOLS.get(protocol);
  if (simulated === undefined) {
    throw new RangeError(`There is no protocol "${protocol}" to simulate; known: ${[...PROTOCOLS.keys()].join(', ')}`);
  }
  const plan = typeof seedOrPlan === 'number' ? simulated.draw(seedOrPlan, size) : seedOrPlan;
  return simulated.run(plan, limits);
}
