import type { FaultPlan, SessionPlan } from '../plan/plan.js';
import { PROTOCOLS } from '../protocols/index.js';
import { CheckBench } from './fixtures.js';
import { UndisturbedAreAnswered } from './undisturbed.js';

describe('undisturbed-are-answered', () => {
  const staying: SessionPlan = { name: 's', region: 'p', transactions: [{ kind: 'get', thinkMs: 1, key: 'k/a' }] };
  const moving: SessionPlan = {
    name: 'm',
    region: 'p',
    transactions: [{ kind: 'move', thinkMs: 1, region: 'q', anew: false }],
  };
  const fault: FaultPlan = { kind: 'crash', atMs: 1, forMs: 1, node: 'p-1' };

  const clocksApart = (ms: number) => ({
    ...PROTOCOLS.get('paris')!.draw(1).environment,
    requestTimeoutMs: 1_000,
    clocks: [0, ms].map((skewMs) => ({ skewMs, driftPpm: 0 })),
  });

  it.each([
    ['a request without an answer', 's', 'OFFLINE', [], 1],
    ['more requests than credits', 's', 'CREDITS_EXHAUSTED', [], 1],
    ['no refusal', 's', 'SNAPSHOT_TOO_OLD', [], 0],
    ['nothing of a session that moves', 'm', 'OFFLINE', [], 0],
    ['nothing of a run with faults', 's', 'OFFLINE', [fault], 0],
  ])('finds %s', (_what, session, code, faults, found) => {
    const bench = new CheckBench();
    new UndisturbedAreAnswered(bench.context, {
      faults,
      sessions: [staying, moving],
      environment: clocksApart(900),
    }).failed(session, code);
    expect(bench.failed).toHaveLength(found);
  });

  it('finds nothing where the clocks differ by more than a request may take', () => {
    const bench = new CheckBench();
    const plan = { faults: [], sessions: [staying], environment: clocksApart(1_100) };
    new UndisturbedAreAnswered(bench.context, plan).failed('s', 'CONNECTION_LOST');
    expect(bench.failed).toHaveLength(0);
  });
});
