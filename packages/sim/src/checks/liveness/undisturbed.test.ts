import type { FaultPlan, SessionPlan } from '../../plan/plan.js';
import { PROTOCOLS } from '../../protocols/index.js';
import { CheckBench } from '../fixtures.js';
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
    delayMs: [[1]],
    slowLinks: [],
    clientMs: 1,
    requestTimeoutMs: 1_000,
    clocks: [0, ms].map((skewMs) => ({ skewMs, driftPpm: 0 })),
  });

  it.each([
    ['a request without an answer', 's', 'OFFLINE', [], 1],
    ['more requests than credits', 's', 'CREDITS_EXHAUSTED', [], 1],
    ['no refusal', 's', 'SNAPSHOT_TOO_OLD', [], 0],
    ['nothing of a session that moves', 'm', 'OFFLINE', [], 0],
    ['nothing of a run with faults', 's', 'OFFLINE', [fault], 0],
  ])('undisturbed-are-answered finds %s', (_what, session, code, faults, found) => {
    const bench = new CheckBench();
    new UndisturbedAreAnswered(bench.context, {
      faults,
      sessions: [staying, moving],
      environment: clocksApart(900),
      settings: {},
    }).failed(session, code);
    expect(bench.failed).toHaveLength(found);
  });

  it('undisturbed-are-answered finds nothing where the clocks differ by more than a request may take', () => {
    const bench = new CheckBench();
    const plan = { faults: [], sessions: [staying], environment: clocksApart(1_100), settings: {} };
    new UndisturbedAreAnswered(bench.context, plan).failed('s', 'CONNECTION_LOST');
    expect(bench.failed).toHaveLength(0);
  });

  /** A round trip takes at most 1,000 ms between nodes, and at most 306 ms between a client and a node. */
  const slowLink = {
    ...clocksApart(0),
    delayMs: [[50]],
    jitter: 1,
    slowLinks: [{ a: 'p-1', b: 'q-1', factor: 2 }],
  };

  it.each([
    ['nothing', 'less', 900, 0],
    ['a request without an answer', 'more', 1_100, 1],
  ])(
    'undisturbed-are-answered finds %s where a coordinator waits %s than a round trip over the slowest link',
    (_what, _than, readDeadlineMs, found) => {
      const bench = new CheckBench();
      const environment = { ...slowLink, requestTimeoutMs: 2_000 };
      const plan = { faults: [], sessions: [staying], environment, settings: { readDeadlineMs } };
      new UndisturbedAreAnswered(bench.context, plan).failed('s', 'OFFLINE');
      expect(bench.failed).toHaveLength(found);
    },
  );

  it.each([
    ['nothing', 'less', 1_300, 0],
    ['a request without an answer', 'more', 1_310, 1],
  ])(
    'undisturbed-are-answered finds %s where a client waits %s than for its coordinator and the slowest link',
    (_what, _than, requestTimeoutMs, found) => {
      const bench = new CheckBench();
      const environment = { ...slowLink, requestTimeoutMs };
      const plan = { faults: [], sessions: [staying], environment, settings: {} };
      new UndisturbedAreAnswered(bench.context, plan).failed('s', 'CONNECTION_LOST');
      expect(bench.failed).toHaveLength(found);
    },
  );
});
