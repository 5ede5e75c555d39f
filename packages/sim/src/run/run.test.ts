import { DRAW_VERSION } from '../plan/plan.js';
import { PROTOCOLS } from '../protocols/index.js';
import { formatFailures, formatPlan, formatTrace, linesAbout } from './report.js';
import { runSeed } from './run-seed.js';
import { formatLine } from './trace.js';

const paris = PROTOCOLS.get('paris')!;
const SMALL = { transactions: 40 };

describe('a run', () => {
  it('a run is the same every time, event by event', () => {
    for (const seed of [108, 111, 118]) {
      const [a, b] = [0, 1].map(() => paris.run(paris.draw(seed, SMALL), { trace: true }));
      expect(a!.trace.length).toBeGreaterThan(100);
      expect(a!.trace.map(formatLine).join('\n')).toBe(b!.trace.map(formatLine).join('\n'));
      expect(a!.stats).toEqual(b!.stats);
    }
  });

  it('a run is the same with and without a trace, and from a plan that was written down', () => {
    for (const seed of [108, 120]) {
      const plan = paris.draw(seed, SMALL);
      const { stats } = paris.run(plan);
      expect(paris.run(JSON.parse(JSON.stringify(plan))).stats).toEqual(stats);
      expect(paris.run(plan, { trace: true }).stats).toEqual(stats);
    }
  });

  it('a run differs from seed to seed, and commits most of its transactions, under faults, in virtual time', () => {
    const totals = { transactions: 0, committed: 0, faults: 0, crashes: 0 };
    const steps = new Set<number>();
    for (let seed = 107; seed < 115; seed++) {
      const { ok, stats, plan } = runSeed('paris', seed, {}, SMALL);
      expect([seed, ok, plan.draw]).toEqual([seed, true, DRAW_VERSION]);
      steps.add(stats.steps);
      totals.transactions += stats.transactions;
      totals.committed += stats.committed;
      totals.faults += stats.faults;
      totals.crashes += stats.crashes;
    }
    expect(steps.size).toBe(8);
    expect(totals.transactions).toBeGreaterThan(8 * 25);
    expect(totals.committed).toBeGreaterThan(totals.transactions * 0.6);
    expect([totals.faults > 10, totals.crashes > 2]).toEqual([true, true]);
  });

  it('a run ends when the selected check has failed, and reports it with its plan and trace', () => {
    // A limit that no run can keep simulates a fault of a protocol.
    const plan = paris.draw(1, SMALL);
    const result = paris.run(plan, {
      livenessMs: 0,
      trace: true,
      stopAt: ({ check }) => check === 'logs-are-truncated',
    });
    const [failure] = result.failures;
    expect(failure).toMatchObject({ kind: 'liveness' });
    expect(formatFailures(result)).toContain(`seed 1: LIVENESS ${failure!.check} at step`);
    expect(formatPlan(plan)).toContain('regions');
    expect(formatTrace(linesAbout(result.trace, failure!))).toContain('FAILS');
  });

  it('a run of a protocol that is not simulated is refused', () => {
    expect(() => runSeed('raft', 1)).toThrow('known: paris');
  });
});
