import { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { MemoryState } from '@isochron/storage';
import { Ledger } from '../evidence/ledger.js';
import { UP_TO_A_TIMESTAMP } from '../evidence/visibility.js';
import { A, B, CheckBench, outcome, prepares, TOPOLOGY, version } from '../fixtures.js';
import { FirstReports, NothingBeforeReports } from './first-reports.js';

const both = [
  { key: A, value: '1' },
  { key: B, value: '2' },
];
const [PREPARE] = prepares('t', 5, both);

describe('nothing-before-reports', () => {
  function watched(hasData = true) {
    const bench = new CheckBench();
    const clock = { forwardMs: 1_000 };
    const nodes = { hasData: () => hasData, forwardMs: () => clock.forwardMs };
    const reports = new FirstReports({ topology: TOPOLOGY, time: new VirtualTime() }, nodes, 5_000);
    const check = new NothingBeforeReports(bench.context, bench.ledger, reports);
    reports.started('p-1');
    return { bench, clock, reports, check };
  }

  it('nothing-before-reports finds a node that prepares before a peer replica of each partition has reported', () => {
    const { bench, reports, check } = watched();
    reports.reported('p-1', 0, 'q');
    check.wrote('p-1', PREPARE!);
    expect(bench.failed).toHaveLength(1);
  });

  it('nothing-before-reports finds a node that commits alone before the reports', () => {
    const { bench, check } = watched();
    check.wrote('p-1', outcome(0, 't', 'committed', 5));
    expect(bench.failed).toHaveLength(1);
  });

  it('nothing-before-reports accepts earlier decisions, and aborts', () => {
    const { bench, check } = watched();
    bench.commit('t', 5, both);
    check.wrote('p-1', outcome(0, 't', 'committed', 5));
    check.wrote('p-1', outcome(0, 'u', 'aborted', 6));
    expect(bench.failed).toEqual([]);
  });

  it('nothing-before-reports accepts everything after the reports, after the time that the node waits, and from a node without data', () => {
    const reported = watched();
    for (const partition of [0, 1]) reported.reports.reported('p-1', partition, 'q');
    const late = watched();
    late.clock.forwardMs = 6_000;
    for (const { bench, check } of [reported, late, watched(false)]) {
      check.wrote('p-1', PREPARE!);
      expect(bench.failed).toEqual([]);
    }
  });

  it('a node that reaches another node for the first time waits as long again, once', () => {
    const { clock, reports } = watched();
    const mayDecide = [6_000, 7_000, 11_000, 12_000].map((forwardMs) => {
      clock.forwardMs = forwardMs;
      if (forwardMs >= 7_000) reports.linked('p-1');
      return reports.mayDecide('p-1');
    });
    expect(mayDecide).toEqual([true, false, false, true]);
  });

  it('the ledger excuses the decisions of a rolled-back node only once the node may decide', () => {
    for (const mayDecide of [true, false]) {
      const bench = new CheckBench();
      const ledger = new Ledger(bench.context, UP_TO_A_TIMESTAMP, {
        mayDecide: () => mayDecide,
        hasReported: () => true,
      });
      const older = new MemoryState();
      older.meta.set('joined', 1);
      ledger.onDataLoss('p-1', older);
      ledger.durable('p-1', [PREPARE!]);
      expect(ledger.isDamaged('t')).toBe(mayDecide);
    }
  });

  it('the ledger excuses versions that an older disk lacks where replicas show the unstable, once the node goes on without a report', () => {
    for (const unstable of ['own', 'nothing'] as const) {
      for (const hasReported of [true, false]) {
        const bench = new CheckBench();
        let mayDecide = false;
        const reports = { mayDecide: () => mayDecide, hasReported: () => hasReported };
        const ledger = new Ledger(bench.context, UP_TO_A_TIMESTAMP, reports, unstable);
        for (const record of prepares('t', 5, both)) ledger.durable('p-1', [record]);
        for (const node of ['p-1', 'q-1'])
          ledger.durable(
            node,
            both.map((write) => version('t', 5, write)),
          );
        const older = new MemoryState();
        older.meta.set('joined', 1);
        ledger.onDataLoss('p-1', older);
        expect(ledger.isDamaged('t')).toBe(false);
        mayDecide = true;
        ledger.revealed();
        mayDecide = false;
        expect(ledger.isDamaged('t')).toBe(unstable === 'own' && !hasReported);
      }
    }
  });
});
