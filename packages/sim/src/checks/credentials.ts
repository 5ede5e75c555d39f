/** Checks of credentials that expire. */
import type { NodeId } from '@isochron/core';
import type { Plan } from '../plan/plan.js';
import type { Check, CheckContext } from './check.js';

/** An expired session is served nothing, and no session changes its principal (U1, U2). */
export class ExpiredAreRefused implements Check {
  readonly name = 'expired-are-refused';

  constructor(readonly context: CheckContext) {}

  servedExpired(node: NodeId): void {
    this.context.fail(this.name, `${node} served a session after its credentials had expired`, [node]);
  }

  changedPrincipal(node: NodeId): void {
    this.context.fail(this.name, `${node} accepted credentials of another principal for a session`, [node]);
  }
}

/**
 * While renewals succeed no request fails for expired credentials (U3). It holds where no clock is off by the life time
 * of credentials: a node may refuse what it takes for expired.
 */
export class RenewalIsNotNoticed implements Check {
  readonly name = 'renewal-is-not-noticed';
  readonly #applies: boolean;

  constructor(
    readonly context: CheckContext,
    { environment, faults }: Pick<Plan, 'environment' | 'faults'>,
  ) {
    const { credentialsMs = 0, clocks } = environment;
    const offMs = Math.max(...clocks.map(({ skewMs }) => Math.abs(skewMs)));
    this.#applies = 2 * offMs < credentialsMs && faults.every(({ kind }) => !kind.includes('clock'));
  }

  failed(session: string, code: string): void {
    if (!this.#applies || code !== 'UNAUTHENTICATED') return;
    this.context.fail(this.name, `a request of ${session} fails for its credentials, which were renewed`, [session]);
  }
}
