import type { Transaction } from '@isochron/checker';
import type { DurableFact, StoredVersion } from '@isochron/core';
import { MemoryState } from '@isochron/storage';
import { OneOutcome } from './atomicity/outcomes.js';
import { ClientReads } from './causality/client-reads.js';
import { ConsistentHistory } from './causality/history.js';
import { SnapshotReads } from './causality/snapshot-reads.js';
import { NothingBelowVersionClock } from './causality/version-clock.js';
import { AcknowledgedIsKept } from './durability/acknowledged.js';
import { UP_TO_A_TIMESTAMP } from './evidence/visibility.js';
import { A, B, CheckBench, client, hold, outcome, prepares, TOPOLOGY, version } from './fixtures.js';
import { MemoryIsBounded } from './liveness/memory.js';
import { StableIsInstalled, StableTimeIsMonotonic } from './stability/stable-time.js';

const upTo = (snapshot: number) => (version: StoredVersion) => version.ts <= snapshot;

const both = [
  { key: A, value: '1' },
  { key: B, value: '2' },
];
const one = [{ key: A, value: '1' }];
const dependent: DurableFact = {
  kind: 'version',
  partition: 0,
  key: A,
  version: { ts: 5, txId: 't', region: 'p', value: '1', deps: [4] },
};

/** Both partitions, committed in one phase by p. */
const atOnce: DurableFact[] = [0, 1].flatMap((partition) => [
  { kind: 'log', partition, ct: 5, tx: { txId: 't', writes: [both[partition]!], siblings: [1 - partition] } },
  outcome(partition, 't', 'committed', 5),
]);

describe('the ledger', () => {
  it('the ledger counts a transaction as committed once every cohort has a durable prepare, at the greatest proposal', () => {
    const { ledger, failed } = new CheckBench();
    ledger.durable('p-1', [prepares('t', 5, both)[0]!]);
    expect(ledger.committed('t')).toBeUndefined();
    ledger.durable('p-1', [prepares('t', 7, both)[1]!]);
    expect(ledger.committed('t')?.ct).toBe(7);
    expect([ledger.visible(A, upTo(6)), ledger.visible(A, upTo(7))?.value, failed]).toEqual([undefined, '1', []]);
  });

  it('the ledger counts a transaction as committed once its only cohort has written it', () => {
    const { ledger } = new CheckBench();
    ledger.durable('p-1', [
      { kind: 'log', partition: 0, ct: 5, tx: { txId: 't', writes: one } },
      outcome(0, 't', 'committed', 5),
    ]);
    expect(ledger.committed('t')?.ct).toBe(5);
  });

  it('the ledger counts a transaction as committed once one batch of a node commits it at all its cohorts', () => {
    const { ledger, failed } = new CheckBench();
    ledger.durable('p-1', atOnce);
    expect([...ledger.committed('t')!.slices.keys()]).toEqual([0, 1]);
    expect(failed).toEqual([]);
  });

  it.each([
    ['half of a transaction that one node has committed', atOnce.slice(0, 2)],
    ['a commit without all prepares', [prepares('t', 5, both)[0]!, outcome(0, 't', 'committed', 5)]],
    ['another commit timestamp', [...prepares('t', 5, one), outcome(0, 't', 'committed', 6)]],
    ['a version without a commit', [version('t', 5, one[0]!)]],
    ['a version with another timestamp', [...prepares('t', 5, one), version('t', 6, one[0]!)]],
    ['a version that depends on something else', [...prepares('t', 5, one), dependent]],
    ['a version with another value', [...prepares('t', 5, one), version('t', 5, { key: A, value: '9' })]],
    ['two proposals for one attempt', [...prepares('t', 5, one), ...prepares('t', 6, one)]],
  ])('the ledger finds %s', (_what, records) => {
    const { ledger, failed } = new CheckBench();
    ledger.durable('p-1', records);
    expect(failed).toHaveLength(1);
  });
});

describe('a lost disk, in the ledger', () => {
  const nothing = new MemoryState();

  it('a lost disk damages the transactions that its cohort alone had, and no others', async () => {
    const bench = new CheckBench();
    const { ledger } = bench;
    for (const [i, txId] of ['alone', 'applied', 'left'].entries()) bench.commit(txId, 5 + i, one);
    bench.apply('q-1', 'applied', 6, one);
    const left = new MemoryState();
    hold(left, prepares('left', 7, one));
    ledger.onDataLoss('p-1', left);
    expect(['alone', 'applied', 'left'].map((txId) => ledger.isDamaged(txId))).toEqual([true, false, false]);
    ledger.onDataLoss('q-1', nothing);
    expect(ledger.isDamaged('applied')).toBe(false);
  });

  it('a lost disk damages the transactions that lost a vote, and those that a node unaware of its loss decides', async () => {
    const { ledger } = new CheckBench();
    ledger.durable('p-1', [prepares('voted', 5, both)[0]!]);
    const older = new MemoryState();
    hold(older, [{ kind: 'meta', name: 'ust', value: 1 }]);
    ledger.onDataLoss('p-1', older);
    ledger.durable('p-1', prepares('again', 8, one));
    ledger.durable('q-1', prepares('elsewhere', 9, one));
    expect(['voted', 'again', 'elsewhere'].map((txId) => ledger.isDamaged(txId))).toEqual([true, true, false]);
  });

  it('a reader may see a damaged version or the one before it', () => {
    const bench = new CheckBench();
    const seen = () => bench.ledger.visibleOnes(A, upTo(9), '1').map((v) => v?.value);
    bench.commit('t', 5, one);
    bench.apply('q-1', 't', 5, one);
    bench.commit('u', 6, [{ key: A, value: 'lost' }]);
    expect(seen()).toEqual(['lost']);
    bench.ledger.onDataLoss('p-1', nothing);
    expect(seen()).toEqual(['lost', '1']);
    const check = new ClientReads(bench.context, bench.ledger, UP_TO_A_TIMESTAMP);
    for (const value of ['lost', '1', 'other']) check.read(client(), A, value);
    expect(bench.failed).toHaveLength(1);
  });

  it('a session may see its own damaged write, or the version before it, after the cluster has lost the write', () => {
    const bench = new CheckBench();
    const check = new ClientReads(bench.context, bench.ledger, UP_TO_A_TIMESTAMP);
    const own = new Map([[A, { ct: 6, txId: 'voted', value: 'lost' }]]);
    bench.commit('t', 5, one);
    bench.ledger.durable('p-1', [prepares('voted', 6, [{ key: A, value: 'lost' }, both[1]!])[0]!]);
    bench.ledger.onDataLoss('p-1', nothing);
    for (const value of ['lost', '1']) check.read(client({ own }), A, value);
    expect(bench.failed).toEqual([]);
    check.read(client({ own }), A, 'other');
    expect(bench.failed).toHaveLength(1);
  });
});

describe('stable-is-installed', () => {
  function watched() {
    const bench = new CheckBench();
    return { bench, check: new StableIsInstalled(bench.context, bench.ledger, () => bench.context.topology) };
  }

  it('stable-is-installed accepts a stable time once every replica has everything below', () => {
    const { bench, check } = watched();
    bench.commit('t', 5, both);
    check.stable('q-1', 4);
    for (const node of ['p-1', 'q-1']) bench.apply(node, 't', 5, both);
    check.stable('q-1', 5);
    expect(bench.failed).toEqual([]);
  });

  it.each([
    ['one replica lacks', both.slice(0, 1)],
    ['no replica has', []],
  ])('stable-is-installed finds a stable time above a version that %s', (_who, applied) => {
    const { bench, check } = watched();
    bench.commit('t', 5, both);
    bench.apply('p-1', 't', 5, both);
    bench.apply('q-1', 't', 5, applied);
    check.stable('q-1', 5);
    expect(bench.failed).toHaveLength(1);
  });

  it('stable-is-installed finds a commit at or below a stable time', () => {
    const { bench, check } = watched();
    check.stable('q-1', 5);
    bench.commit('t', 5, one);
    expect(bench.failed).toHaveLength(1);
  });

  it('stable-is-installed counts versions that a replica had before its disk was lost, and excuses those that it alone had', () => {
    const { bench, check } = watched();
    bench.commit('t', 5, one);
    for (const node of ['p-1', 'q-1']) bench.apply(node, 't', 5, one);
    bench.commit('u', 6, one);
    bench.ledger.onDataLoss('p-1', new MemoryState());
    check.stable('q-1', 6);
    expect([bench.failed, bench.ledger.isDamaged('t'), bench.ledger.isDamaged('u')]).toEqual([[], false, true]);
  });
});

describe('monotonic-stable-time', () => {
  it('monotonic-stable-time finds a stable time that falls in an incarnation, or on a disk across incarnations', () => {
    const bench = new CheckBench();
    const check = new StableTimeIsMonotonic(bench.context);
    const ust = (value: number) => check.durable('p-1', [{ kind: 'meta', name: 'ust', value }]);
    check.announced('p-1', 'q-1', 7);
    ust(7);
    check.crashed('p-1');
    check.announced('p-1', 'q-1', 6);
    expect(bench.failed).toEqual([]);
    check.announced('p-1', 'q-1', 5);
    ust(6);
    expect(bench.failed).toHaveLength(2);
  });
});

describe('nothing-below-version-clock', () => {
  const log = (ct: number) => ({ kind: 'log' as const, partition: 0, ct, tx: { txId: 't', writes: one } });

  it('nothing-below-version-clock finds proposals and commits at or below a published clock, also after a restart', () => {
    const bench = new CheckBench();
    const check = new NothingBelowVersionClock(bench.context, bench.ledger);
    check.published('p-1', 0, 5);
    check.published('p-1', 0, 4);
    check.wrote('p-1', prepares('t', 6, one)[0]!);
    check.wrote('p-1', log(6));
    check.wrote('q-1', log(5));
    expect(bench.failed).toEqual([]);
    check.wrote('p-1', prepares('t', 5, one)[0]!);
    check.wrote('p-1', log(5));
    expect(bench.failed).toHaveLength(2);
  });
});

describe('one-outcome', () => {
  function watched() {
    const bench = new CheckBench();
    return { bench, check: new OneOutcome(bench.context, bench.ledger) };
  }

  it('one-outcome accepts an aborted attempt before the one that commits', () => {
    const { bench, check } = watched();
    check.aborted('p-1', 't', 0);
    bench.commit('t', 5, one, 1);
    check.committed('q-1', 't', 1, 5);
    check.acknowledged('t', 5, one);
    check.status('t', 'committed', 5, 0);
    expect(bench.failed).toEqual([]);
  });

  it.each<[string, (check: OneOutcome) => void]>([
    ['another timestamp', (check) => check.committed('q-1', 't', 0, 6)],
    ['another attempt', (check) => check.committed('q-1', 't', 1, 5)],
    ['an abort of a committed transaction', (check) => check.aborted('q-1', 't', 0)],
    ['a tombstone of a committed transaction', (check) => check.durable('q-1', [outcome(0, 't', 'aborted', 9)])],
    ['an answer that reports it as aborted', (check) => check.refused('t')],
    ['a status that reports it as aborted', (check) => check.status('t', 'aborted', null, 1)],
    ['a status that reports it as lost', (check) => check.status('t', 'lost', null, 1)],
    ['a status with another timestamp', (check) => check.status('t', 'committed', 6, 0)],
  ])('one-outcome finds %s', (_what, report) => {
    const { bench, check } = watched();
    bench.commit('t', 5, one);
    report(check);
    expect(bench.failed).toHaveLength(1);
  });

  it.each<[string, (check: OneOutcome) => void]>([
    ['a cohort had reported as aborted', (check) => check.aborted('q-1', 't', 0)],
    ['its client had received as aborted', (check) => check.refused('t')],
  ])('one-outcome finds a commit of a transaction that %s', (_what, report) => {
    const { bench, check } = watched();
    report(check);
    bench.commit('t', 5, one);
    expect(bench.failed).toHaveLength(1);
  });

  it('one-outcome ignores the tombstone of an attempt about which an outsider asked, and no other', () => {
    const { bench, check } = watched();
    check.strangeAttempt('t', 1);
    check.durable('q-1', [outcome(0, 't', 'aborted', 4, 1)]);
    bench.commit('t', 5, one, 1);
    check.aborted('q-1', 't', 1);
    expect(bench.failed).toEqual([]);
    check.strangeAttempt('u', 1);
    bench.commit('u', 6, one);
    check.aborted('q-1', 'u', 0);
    expect(bench.failed).toHaveLength(1);
  });

  it('one-outcome finds a commit without any prepare', () => {
    const { bench, check } = watched();
    check.acknowledged('t', 5, one);
    expect(bench.failed).toHaveLength(1);
  });
});

describe('snapshot-reads', () => {
  function watched() {
    const bench = new CheckBench();
    bench.commit('t', 5, one);
    bench.commit('u', 8, [{ key: A, value: null }]);
    return { bench, check: new SnapshotReads(bench.context, bench.ledger, UP_TO_A_TIMESTAMP) };
  }
  const t = { ts: 5, txId: 't', region: 'p', value: '1' };
  const u = { ts: 8, txId: 'u', region: 'p', value: null };
  const collect = { kind: 'horizon' as const, partition: 0, horizon: 'gcFloor' as const, upTo: 9 };

  it('snapshot-reads accepts the versions that the snapshot shows, and a missing tombstone that may be collected', () => {
    const { bench, check } = watched();
    check.slice('p-1', 0, { ts: 4 }, [A], [null]);
    check.slice('p-1', 0, { ts: 5 }, [A], [t]);
    check.slice('p-1', 0, { ts: 8 }, [A], [u]);
    check.wrote('p-1', collect);
    check.slice('p-1', 0, { ts: 9 }, [A], [null]);
    check.listed('p-1', 0, { ts: 9 }, { start: '', end: null, limit: 9, entries: [], next: null });
    expect(bench.failed).toEqual([]);
  });

  it.each<[string, (check: SnapshotReads) => void]>([
    ['an older version', (check) => check.slice('p-1', 0, { ts: 8 }, [A], [t])],
    ['a version that is missing', (check) => check.slice('p-1', 0, { ts: 5 }, [A], [null])],
    ['a tombstone that is missing above the floor', (check) => check.slice('p-1', 0, { ts: 8 }, [A], [null])],
    ['a version from the future', (check) => check.slice('p-1', 0, { ts: 4 }, [A], [t])],
    ['another value', (check) => check.slice('p-1', 0, { ts: 5 }, [A], [{ ...t, value: '9' }])],
    [
      'a key that a listing leaves out',
      (check) => check.listed('p-1', 0, { ts: 5 }, { start: '', end: null, limit: 9, entries: [], next: null }),
    ],
    [
      'a deleted key in a listing',
      (check) =>
        check.listed(
          'p-1',
          0,
          { ts: 8 },
          { start: '', end: null, limit: 9, entries: [{ key: A, version: t }], next: null },
        ),
    ],
  ])('snapshot-reads finds %s', (_what, answers) => {
    const { bench, check } = watched();
    answers(check);
    expect(bench.failed).toHaveLength(1);
  });

  it('snapshot-reads finds that a version was collected while an open transaction needed it', () => {
    const { bench, check } = watched();
    check.collected(client());
    expect(bench.failed).toHaveLength(1);
  });

  it('snapshot-reads finds an answer below the floor, also below one that is not durable yet and that a crash takes back', () => {
    const { bench, check } = watched();
    check.wrote('p-1', collect);
    check.slice('p-1', 0, { ts: 5 }, [A], [t]);
    expect(bench.failed).toHaveLength(1);
    check.crashed('p-1');
    check.slice('p-1', 0, { ts: 5 }, [A], [t]);
    expect(bench.failed).toHaveLength(1);
    check.durable('p-1', [collect]);
    check.crashed('p-1');
    check.slice('p-1', 0, { ts: 5 }, [A], [t]);
    expect(bench.failed).toHaveLength(2);
  });
});

describe('client-reads', () => {
  function watched() {
    const bench = new CheckBench();
    bench.commit('t', 5, one);
    return { bench, check: new ClientReads(bench.context, bench.ledger, UP_TO_A_TIMESTAMP) };
  }
  const own = (ct: number) => new Map([[A, { ct, txId: 'mine', value: 'mine' }]]);

  it('client-reads accepts the own write, then the cache above the snapshot, then the snapshot', () => {
    const { bench, check } = watched();
    check.read(client({ written: new Map([[A, null]]), own: own(12) }), A, null);
    check.read(client({ own: own(12) }), A, 'mine');
    check.read(client({ own: own(4) }), A, '1');
    check.read(client({ snapshot: { ts: 4 } }), A, null);
    check.snapshot(client({ floor: { ts: 10 } }), { ts: 10 });
    expect(bench.failed).toEqual([]);
  });

  const late = new Map([[A, [{ txId: 'late', value: 'late' }]]]);

  it('client-reads accepts an own write in doubt from its commit on, and a session that has not received the outcome', () => {
    const { bench, check } = watched();
    bench.commit('late', 12, [{ key: A, value: 'late' }]);
    for (const value of ['late', '1']) check.read(client({ inDoubt: late }), A, value);
    check.read(client({ inDoubt: late, own: own(11) }), A, 'late');
    expect(bench.failed).toEqual([]);
  });

  it('client-reads accepts an own write in doubt whose commit was lost with a disk, and was run again later', () => {
    const { bench, check } = watched();
    bench.commit('late', 4, [{ key: A, value: 'late' }]);
    check.read(client({ inDoubt: late }), A, 'late');
    expect(bench.failed).toHaveLength(1);
    bench.ledger.onDataLoss('p-1', new MemoryState());
    check.read(client({ inDoubt: late }), A, 'late');
    expect(bench.failed).toHaveLength(1);
  });

  it('client-reads finds an own write in doubt that is shown without its commit, or instead of a newer own one', () => {
    const { bench, check } = watched();
    check.read(client({ inDoubt: late }), A, 'late');
    bench.commit('late', 12, [{ key: A, value: 'late' }]);
    check.read(client({ inDoubt: late, own: own(13) }), A, 'late');
    expect(bench.failed).toHaveLength(2);
  });

  it.each<[string, (check: ClientReads) => void]>([
    ['a cache entry that hides a newer visible version', (check) => check.read(client({ own: own(4) }), A, 'mine')],
    ['an own write that is missed', (check) => check.read(client({ own: own(12) }), A, '1')],
    [
      'a write of the transaction that is missed',
      (check) => check.read(client({ written: new Map([[A, 'x']]) }), A, '1'),
    ],
    ['a snapshot that falls', (check) => check.snapshot(client({ floor: { ts: 11 } }), { ts: 10 })],
  ])('client-reads finds %s', (_what, reads) => {
    const { bench, check } = watched();
    reads(check);
    expect(bench.failed).toHaveLength(1);
  });
});

describe('acknowledged-is-kept', () => {
  async function ended(final: Parameters<typeof version>[2] | undefined, ts = 5) {
    const bench = new CheckBench();
    const disks = new Map(TOPOLOGY.nodes.map((node) => [node, new MemoryState()]));
    const check = new AcknowledgedIsKept(bench.context, bench.ledger, (node) => disks.get(node)!);
    bench.commit('t', 5, one);
    check.acknowledged('t', 5, one);
    hold(disks.get('p-1')!, [version('t', 5, one[0]!)]);
    if (final !== undefined) hold(disks.get('q-1')!, [version('t', ts, final)]);
    check.converged();
    return bench.failed.length;
  }

  it('acknowledged-is-kept accepts the write, or a newer one, on every replica', async () => {
    expect([await ended(one[0]), await ended({ key: A, value: 'newer' }, 6)]).toEqual([0, 0]);
  });

  it('acknowledged-is-kept finds a replica that ends without the write, or with an older one', async () => {
    expect([await ended(undefined), await ended({ key: A, value: 'older' }, 4)]).toEqual([1, 1]);
  });

  it('acknowledged-is-kept finds an acknowledged write that is on no disk', () => {
    const bench = new CheckBench();
    const check = new AcknowledgedIsKept(bench.context, bench.ledger, () => new MemoryState());
    check.acknowledged('t', 5, one);
    expect(bench.failed).toHaveLength(1);
  });
});

describe('memory-is-bounded, and histories', () => {
  it('memory-is-bounded finds state that grows beyond its bound', () => {
    const bench = new CheckBench();
    const loads = [['p-1', { reads: 3, commits: 9 }]] as const;
    new MemoryIsBounded(
      bench.context,
      () => loads,
      9,
      () => [],
    ).round();
    expect(bench.failed).toEqual([]);
    new MemoryIsBounded(
      bench.context,
      () => loads,
      8,
      () => [],
    ).round();
    expect(bench.failed).toHaveLength(1);
  });

  it('the check of histories finds a session that misses its own write, where the protocol promises that it does not', () => {
    const bench = new CheckBench();
    const line = { session: 's', status: 'committed' as const };
    const history: Transaction[] = [
      { ...line, seq: 0, tx: 'a', ops: [{ f: 'w', k: A, v: '1' }] },
      { ...line, seq: 1, tx: 'b', ops: [{ f: 'r', k: A, v: null }] },
    ];
    new ConsistentHistory(bench.context, bench.ledger, history, 'eventual').end();
    expect(bench.failed).toEqual([]);
    new ConsistentHistory(bench.context, bench.ledger, history, 'transactional-causal').end();
    expect(bench.failed).toHaveLength(1);
  });
});
