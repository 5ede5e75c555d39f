import type { AnyMessage } from '@isochron/core';
import { drawPlan, type PlanSize } from '../plan/draw.js';
import type { Plan } from '../plan/plan.js';
import type { Limits, Result } from '../run/result.js';
import { Simulation } from '../run/simulation.js';
import type { ProtocolAdapter } from './adapter.js';
import { paris } from './paris/adapter.js';

/** A protocol that can be simulated. */
export interface SimulatedProtocol {
  readonly name: string;
  draw(seed: number, size?: PlanSize): Plan;
  run(plan: Plan, limits?: Limits): Result;
}

/** Hides which messages an adapter speaks. */
function simulated<M extends AnyMessage>(adapter: ProtocolAdapter<M>): SimulatedProtocol {
  return {
    name: adapter.name,
    draw: (seed, size) => drawPlan(adapter, seed, size),
    run: (plan, limits) => new Simulation(plan, adapter, limits).run(),
  };
}

/** All of them, by name. */
export const PROTOCOLS: ReadonlyMap<string, SimulatedProtocol> = new Map(
  [simulated(paris)].map((protocol) => [protocol.name, protocol]),
);
