/** Checks of credentials that expire. */
import type { NodeId, TxId } from '@isochron/core';
import { DEFAULT_SETTINGS } from '@isochron/protocols';
import type { Plan } from '../../plan/plan.js';
import type { Check, CheckContext } from '../check.js';

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

/** The status of a transaction is shown to its principal alone: for all others the id is unused (U4). */
export class StatusIsPrivate implements Check {
  readonly name = 'status-is-private';

  constructor(readonly context: CheckContext) {}

  foreignStatus(session: string, txId: TxId, status: string): void {
    if (status !== 'unknown' && status !== 'forgotten')
      this.context.fail(this.name, `${session} receives that ${txId} of another principal is ${status}`, [
        session,
        txId,
      ]);
  }
}

/** Whether no clock is off by the life time of credentials: a node may refuse what it takes for expired. */
export function clocksSuitCredentials({ environment, faults }: Pick<Plan, 'environment' | 'faults'>): boolean {
  const { credentialsMs = 0, clocks } = environment;
  const offMs = Math.max(...clocks.map(({ skewMs }) => Math.abs(skewMs)));
  return 2 * offMs < credentialsMs && faults.every(({ kind }) => !kind.includes('clock'));
}

/**
 * Codes with which a node may refuse a session for its clock: credentials that it takes for expired, and timestamps
 * that it takes for far ahead (T1).
 */
export function refusalsByClock(plan: Pick<Plan, 'environment' | 'faults' | 'settings'>): ReadonlySet<string> {
  const { environment, faults, settings } = plan;
  const skews = environment.clocks.map(({ skewMs }) => skewMs);
  const limitMs = (settings.maxClockDriftMs ?? DEFAULT_SETTINGS.maxClockDriftMs) / 2;
  const isAhead =
    Math.max(...skews) - Math.min(...skews) > limitMs || faults.some(({ kind }) => kind.includes('clock'));
  return new Set([
    ...(clocksSuitCredentials(plan) ? [] : ['UNAUTHENTICATED']),
    ...(isAhead ? ['TIMESTAMP_IN_FUTURE'] : []),
  ]);
}

/** While renewals succeed no request fails for expired credentials (U3), where the clocks suit them. */
export class RenewalIsNotNoticed implements Check {
  readonly name = 'renewal-is-not-noticed';
  readonly #applies: boolean;

  constructor(
    readonly context: CheckContext,
    plan: Pick<Plan, 'environment' | 'faults'>,
  ) {
    this.#applies = clocksSuitCredentials(plan);
  }

  failed(session: string, code: string): void {
    if (!this.#applies || code !== 'UNAUTHENTICATED') return;
    this.context.fail(this.name, `a request of ${session} fails for its credentials, which were renewed`, [session]);
  }
}
