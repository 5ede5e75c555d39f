import { DEFAULT_SETTINGS } from '@isochron/protocols';
import type { Environment, Plan, TransactionPlan } from '../../plan/plan.js';
import { slowestMs } from '../../run/probe.js';
import type { Check, CheckContext } from '../check.js';

/** Codes of requests that ended without an answer. */
const UNANSWERED: ReadonlySet<string> = new Set(['OFFLINE', 'CONNECTION_LOST', 'CREDITS_EXHAUSTED']);

/** The share of the delay between clients and nodes that varies (`sockets.ts`). */
const CLIENT_JITTER = 0.5;

/**
 * Where no fault disturbs a run, every request of a session that stays in its region is answered: clients keep to their
 * credits, and give each of them back. A bound of liveness; a request may be refused all the same. It holds where a
 * coordinator waits longer for a cohort than the slowest link takes there and back, and where a request may take longer
 * than that, the way of the client to the coordinator and back, and the difference of the clocks together: protocols
 * that block reads wait for the clock that is behind.
 */
export class UndisturbedAreAnswered implements Check {
  readonly name = 'undisturbed-are-answered';
  readonly #undisturbed: ReadonlySet<string>;

  constructor(
    readonly context: CheckContext,
    { faults, sessions, environment, settings }: Pick<Plan, 'faults' | 'sessions' | 'environment' | 'settings'>,
  ) {
    const staying = sessions.filter(({ transactions }) => transactions.every(keepsItsConnection));
    const isCalm = faults.length === 0 && outwaitsLinks({ environment, settings });
    this.#undisturbed = new Set(isCalm ? staying.map(({ name }) => name) : []);
  }

  failed(session: string, code: string): void {
    if (!this.#undisturbed.has(session) || !UNANSWERED.has(code)) return;
    this.context.fail(this.name, `a request of ${session} ends with ${code}, and nothing was wrong`, [session]);
  }
}

/**
 * Whether a coordinator waits longer for a cohort than the slowest link takes there and back, and a client longer than
 * that, its own way to the coordinator and back, and the difference of the clocks together.
 */
export function outwaitsLinks({ environment, settings }: Pick<Plan, 'environment' | 'settings'>): boolean {
  const { readDeadlineMs = DEFAULT_SETTINGS.readDeadlineMs } = settings;
  const cohortMs = roundTripMs(slowestMs({ environment }), environment.jitter);
  const coordinatorMs = roundTripMs(farthestMs(environment), CLIENT_JITTER);
  const requestMs = coordinatorMs + cohortMs + spreadMs(environment);
  return environment.requestTimeoutMs > requestMs && readDeadlineMs > cohortMs;
}

/** A round trip that jitter almost never makes longer: less than once in 800. */
const roundTripMs = (delayMs: number, jitter: number): number => 2 * delayMs * (1 + 4 * jitter);

/** The mean delay between a client and a node of any region: it may have to take another one than its own. */
const farthestMs = ({ clientMs, delayMs }: Environment): number => clientMs + Math.max(...delayMs.flat());

/** How far the clocks of the nodes are apart. */
function spreadMs({ clocks }: Pick<Environment, 'clocks'>): number {
  const skews = clocks.map(({ skewMs }) => skewMs);
  return Math.max(...skews) - Math.min(...skews);
}

/** Whether its session neither moves nor loses its connection on purpose. */
function keepsItsConnection(plan: TransactionPlan): boolean {
  if (plan.kind === 'interactive' && plan.steps.some(({ f }) => f === 'reconnect')) return false;
  return plan.kind !== 'move' && !('commit' in plan && plan.commit.loses !== null);
}
