import type { AnyMessage } from '@isochron/core';
import { OPERATION_PROTOCOLS, TRANSACTION_PROTOCOLS } from '@isochron/protocols';
import { drawPlan, type PlanSize } from '../plan/draw.js';
import type { Plan } from '../plan/plan.js';
import type { Limits, Result } from '../run/result.js';
import { Simulation } from '../run/simulation.js';
import type { AtOnce, ProtocolAdapter } from './adapter.js';
import { operationAdapter } from './operations/adapter.js';
import { OPERATIONS } from './operations/table.js';
import { transactionAdapter } from './transactions/adapter.js';
import { TRANSACTIONS } from './transactions/table.js';

/** A protocol that can be simulated. */
export interface SimulatedProtocol {
  readonly name: string;
  /**
   * Checks that are expected to fail now and then, because they ask for more than it promises; none for most protocols.
   */
  readonly caughtBy: readonly string[];
  /** Messages around which a plan may let a node crash. */
  readonly crashPoints: readonly string[];
  readonly atOnce: AtOnce;
  /** Whether nodes decide maps. */
  readonly drawsMaps: boolean;
  draw(seed: number, size?: PlanSize): Plan;
  run(plan: Plan, limits?: Limits): Result;
}

/** Hides the message type of an adapter. */
function simulated<M extends AnyMessage>(adapter: ProtocolAdapter<M>): SimulatedProtocol {
  return {
    name: adapter.name,
    caughtBy: adapter.demands.beyond.map((level) => `${level}-history`),
    crashPoints: adapter.crashPoints,
    atOnce: adapter.atOnce,
    drawsMaps: adapter.drawsMaps,
    draw: (seed, size) => drawPlan(adapter, seed, size),
    run: (plan, limits) => new Simulation(plan, adapter, limits).run(),
  };
}

const namesOf = <Name extends string>(table: Readonly<Record<Name, unknown>>) => Object.keys(table) as Name[];

/** All protocols of the catalogue, by name, the product's own one first. */
export const PROTOCOLS: ReadonlyMap<string, SimulatedProtocol> = new Map(
  [
    ...namesOf(TRANSACTION_PROTOCOLS).map((name) =>
      simulated(transactionAdapter(TRANSACTION_PROTOCOLS[name], TRANSACTIONS[name])),
    ),
    ...namesOf(OPERATION_PROTOCOLS).map((name) =>
      simulated(operationAdapter(OPERATION_PROTOCOLS[name], OPERATIONS[name])),
    ),
  ].map((protocol) => [protocol.name, protocol]),
);
