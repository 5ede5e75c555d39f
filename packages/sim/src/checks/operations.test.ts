import { MemoryState } from '@isochron/storage';
import { SessionsAreCovered } from './causality/sessions-are-covered.js';
import { A, CheckBench, client } from './fixtures.js';
import { NonblockingReads } from './liveness/nonblocking-reads.js';
import { VisibleInTheEnd } from './liveness/visible-in-the-end.js';
import { CompleteIsEverywhere } from './stability/complete-is-everywhere.js';

describe('a read that waits', () => {
  const nonblocking = () => {
    const bench = new CheckBench();
    return { bench, check: new NonblockingReads(bench.context), request: {} };
  };
  const later = (bench: CheckBench) => bench.context.time.runUntil(bench.context.time.now + 10, () => false);

  it('a read that waits is noticed where its replica has answered before it was asked, and nothing was lost', () => {
    const { bench, check, request } = nonblocking();
    check.revealed('p-1', 0, []);
    later(bench);
    check.asked(request);
    check.waited('p-1', 0, request);
    expect(bench.failed).toHaveLength(1);
  });

  it.each<[string, (check: NonblockingReads) => void]>([
    ['before the first answer of the replica', () => {}],
    ['after a crash', (check) => check.crashed('p-1')],
    ['after the loss of a disk', (check) => check.onDataLoss()],
  ])('a read may wait %s', (when, before) => {
    const { bench, check, request } = nonblocking();
    // The last two have answered before.
    if (when.startsWith('after')) check.revealed('p-1', 0, []);
    before(check);
    later(bench);
    check.asked(request);
    check.waited('p-1', 0, request);
    expect(bench.failed).toEqual([]);
  });
});

describe('what sessions have seen', () => {
  it('snapshots cover the versions that a session has seen, and later writes and reads depend on them', () => {
    const bench = new CheckBench();
    const check = new SessionsAreCovered(bench.context, bench.ledger);
    bench.put('t', 5, '1');
    check.chosen('p-1', 'a snapshot', true);
    check.stamped('p-1', 't', ({ ts }) => ts === 5);
    check.learned('p-1', 't', A, ({ ts }) => ts === 5);
    expect(bench.failed).toEqual([]);
    check.chosen('p-1', 'a snapshot', false);
    check.stamped('p-1', 't', () => false);
    check.learned('p-1', 't', A, () => false);
    expect(bench.failed).toHaveLength(3);
  });
});

describe('what is called fully replicated', () => {
  const write = { key: A, value: '1' };
  /** Region p has written two versions; the other region has the first. */
  const halfReplicated = () => {
    const bench = new CheckBench();
    const check = new CompleteIsEverywhere(bench.context, bench.ledger);
    bench.put('t', 5, '1');
    bench.put('u', 6, '2');
    bench.apply('q-1', 't', 5, [write]);
    return { bench, check };
  };

  it.each([
    ['up to the last version that every replica has', 'p', 0, 5],
    ['for another region', 'q', 0, 6],
    ['for another partition', 'p', 1, 6],
  ])('a node may report full replication %s', (_what, region, partition, upTo) => {
    const { bench, check } = halfReplicated();
    check.complete('q-1', partition, region, upTo);
    expect(bench.failed).toEqual([]);
  });

  it('a report of full replication is noticed where a replica lacks a part of it', () => {
    const { bench, check } = halfReplicated();
    check.complete('p-1', 0, 'p', 6);
    expect(bench.failed).toEqual([expect.stringContaining('a replica lacks u of 6')]);
  });

  it('a report of full replication is noticed where one replica has written twice the version that another lacks', () => {
    const { bench, check } = halfReplicated();
    bench.apply('p-1', 'u', 6, [{ key: A, value: '2' }]);
    check.complete('p-1', 0, 'p', 6);
    expect(bench.failed).toEqual([expect.stringContaining('a replica lacks u of 6')]);
  });

  it('a report of full replication is noticed by the missing part, also if the last version is everywhere', () => {
    const { bench, check } = halfReplicated();
    bench.put('v', 7, '3');
    bench.apply('q-1', 'v', 7, [{ key: A, value: '3' }]);
    check.complete('p-1', 0, 'p', 7);
    expect(bench.failed).toEqual([expect.stringContaining('a replica lacks u of 6')]);
  });

  it.each([
    ['a disk lost after it had everything', 'q-1', 5],
    ['a version that a lost disk alone had', 'p-1', 6],
  ])('a report of full replication is not held against %s', (_what, victim, upTo) => {
    const { bench, check } = halfReplicated();
    bench.ledger.onDataLoss(victim, new MemoryState());
    check.complete('p-1', 0, 'p', upTo);
    expect(bench.failed).toEqual([]);
  });
});

describe('a read when all is well', () => {
  it('a read of a healed cluster shows the newest version, or one that is newer still', () => {
    const bench = new CheckBench();
    const check = new VisibleInTheEnd(bench.context, bench.ledger);
    bench.put('t', 5, '1');
    bench.put('u', 6, '2');
    check.read(client(), A, '1');
    check.converged();
    check.read(client(), A, '2');
    bench.put('v', 7, null);
    check.read(client(), A, null);
    expect(bench.failed).toEqual([]);
    check.read(client(), A, '1');
    expect(bench.failed).toHaveLength(1);
  });

  it('a read of a healed cluster shows the document that has overtaken a late write (F9)', () => {
    const bench = new CheckBench();
    const check = new VisibleInTheEnd(bench.context, bench.ledger);
    bench.put('t', 5, '1');
    bench.put('u', 7, '2');
    bench.put('v', 8, '3', 6);
    check.converged();
    check.read(client(), A, '2');
    expect(bench.failed).toEqual([]);
    for (const value of ['1', '3', null]) check.read(client(), A, value);
    expect(bench.failed).toHaveLength(3);
  });
});
