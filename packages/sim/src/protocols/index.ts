import type { AnyMessage } from '@isochron/core';
import { drawPlan, type PlanSize } from '../plan/draw.js';
import type { Plan } from '../plan/plan.js';
import type { Limits, Result } from '../run/result.js';
import { Simulation } from '../run/simulation.js';
import type { AtOnce, ProtocolAdapter } from './adapter.js';
import { ccLo } from './operations/cc-lo.js';
import { contrarian } from './operations/contrarian.js';
import { copsGt } from './operations/cops-gt.js';
import { eventual } from './operations/eventual.js';
import { gentleRain } from './operations/gentlerain.js';
import { okapi } from './operations/okapi.js';
import { orbe } from './operations/orbe.js';
import { orbeCleaning } from './operations/orbe-cleaning.js';
import { orbeClock } from './operations/orbe-clock.js';
import { bpr } from './transactions/bpr.js';
import { cure } from './transactions/cure.js';
import { hCure } from './transactions/h-cure.js';
import { nocc } from './transactions/nocc.js';
import { paris } from './transactions/paris.js';
import { wren } from './transactions/wren.js';

/** A protocol that can be simulated. */
export interface SimulatedProtocol {
  readonly name: string;
  /** Checks that are meant to fail now and then, because they ask for more than it promises; none for most. */
  readonly caughtBy: readonly string[];
  /** Messages around which a plan may let a node crash. */
  readonly crashPoints: readonly string[];
  readonly atOnce: AtOnce;
  draw(seed: number, size?: PlanSize): Plan;
  run(plan: Plan, limits?: Limits): Result;
}

/** Hides which messages an adapter speaks. */
function simulated<M extends AnyMessage>(adapter: ProtocolAdapter<M>): SimulatedProtocol {
  return {
    name: adapter.name,
    caughtBy: adapter.demands.beyond.map((level) => `${level}-history`),
    crashPoints: adapter.crashPoints,
    atOnce: adapter.atOnce,
    draw: (seed, size) => drawPlan(adapter, seed, size),
    run: (plan, limits) => new Simulation(plan, adapter, limits).run(),
  };
}

const TRANSACTIONS = [paris, wren, cure, hCure, bpr, nocc].map(simulated);
const OPERATIONS = [contrarian, okapi, gentleRain, orbe, orbeClock, orbeCleaning, copsGt, ccLo, eventual].map(
  simulated,
);

/** All of them, by name, the product's own one first. */
export const PROTOCOLS: ReadonlyMap<string, SimulatedProtocol> = new Map(
  [...TRANSACTIONS, ...OPERATIONS].map((protocol) => [protocol.name, protocol]),
);
