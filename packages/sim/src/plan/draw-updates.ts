/** Draws where sessions update documents instead of replacing them. */
import type { QualifiedKey, Random } from '@isochron/core';
import { integer } from '@isochron/simulated-world/draws';
import { keysOf } from './keys.js';
import type { SessionPlan, StepPlan, TransactionPlan, WritePlan } from './plan.js';

/** The sessions with updates of a few hot keys, in a part of all runs. */
export function withUpdates(random: Random, sessions: readonly SessionPlan[]): readonly SessionPlan[] {
  const keys = keysOf({ sessions });
  if (keys.length === 0 || !random.chance(0.6)) return sessions;
  const documents = new Set(Array.from({ length: integer(random, 1, 4) }, () => random.pick(keys)));
  const draws = new UpdateDraws(random, documents, 0.5 + random.float() / 2, random.chance(0.5) ? 0 : random.float());
  return sessions.map((session) => ({ ...session, transactions: session.transactions.map((one) => draws.in(one)) }));
}

class UpdateDraws {
  constructor(
    readonly random: Random,
    readonly documents: ReadonlySet<QualifiedKey>,
    /** Share of their writes that are updates. */
    readonly share: number,
    /** Share of other writes that go to one of them instead. */
    readonly hot: number,
  ) {}

  in(plan: TransactionPlan): TransactionPlan {
    switch (plan.kind) {
      case 'write':
        return { ...plan, writes: this.#distinct(plan.writes.map((write) => this.#write(write))) };
      case 'burst':
        return { ...plan, writes: plan.writes.map((write) => this.#write(write)) };
      case 'interactive':
        return { ...plan, steps: plan.steps.map((step) => this.#step(step)) };
      default:
        return plan;
    }
  }

  #step(step: StepPlan): StepPlan {
    return step.f === 'write' ? { f: 'write', ...this.#write(step) } : step;
  }

  #write({ key: drawn, deletes }: WritePlan): WritePlan {
    const key = this.random.chance(this.hot) ? this.random.pick([...this.documents]) : drawn;
    if (!this.documents.has(key)) return { key, deletes };
    return { key, deletes, document: this.random.chance(this.share) ? 'update' : 'put' };
  }

  /** One-shot writes name each key once. */
  #distinct(writes: readonly WritePlan[]): WritePlan[] {
    return [...new Map(writes.map((write) => [write.key, write])).values()];
  }
}
