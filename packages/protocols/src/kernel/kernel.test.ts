import { type DurableRecord, packWall, wallOf } from '@isochron/core';
import fc from 'fast-check';
import { DriftWatch } from './drift-watch.js';
import { NodeClock } from './node-clock.js';
import { RecentOutcomes } from './recent-outcomes.js';
import { Aggregator, aggregate, treeOf } from './replication/aggregation.js';
import { cutRanges } from './replication/replication-stream.js';
import { StableTime } from './replication/stable-time.js';
import { VersionVector } from './replication/version-vector.js';
import { CommittedQueue } from './transactions/committed-queue.js';
import { digestWrites } from './transactions/digest.js';
import { PreparedQueue } from './transactions/prepared-queue.js';
import { Resolution } from './transactions/resolution.js';
import { TransactionTable } from './transactions/transaction-table.js';

const NOW = Date.UTC(2026, 0, 1);

/** Effects that only number batches. */
function batches(): { write(record: DurableRecord): number; records: DurableRecord[]; seq: number } {
  return {
    records: [],
    seq: 1,
    write(record) {
      this.records.push(record);
      return this.seq;
    },
  };
}

describe('NodeClock', () => {
  it("a node's clock publishes nothing above the durable ceiling (D7)", () => {
    const out = batches();
    const clock = new NodeClock(0, 0);
    expect(clock.publishable(NOW, out)).toBe(0);
    expect(out.records).toHaveLength(1);
    clock.persisted(1);
    const published = clock.publishable(NOW, out);
    expect(published).toBeGreaterThan(0);
    expect(published).toBeLessThanOrEqual(clock.ceiling);
    expect(clock.publishable(NOW + 60_000, out)).toBe(clock.ceiling);
  });

  it('a clock that its peers move forward writes as few ceilings as one that follows its wall clock (D7, T2)', () => {
    for (const aheadMs of [0, 1_500]) {
      const out = batches();
      const clock = new NodeClock(packWall(NOW), 0);
      for (let ms = 0; ms < 20_000; ms++) {
        clock.advance(packWall(NOW + ms + aheadMs));
        clock.publishable(NOW + ms, out);
        clock.persisted(1);
      }
      expect(out.records.length).toBeLessThan(80);
    }
  });

  it('a clock that starts at its ceiling over and over gains 20 ms with each start (D7)', () => {
    let ceiling = packWall(NOW);
    for (let start = 0; start < 100; start++) {
      const out = batches();
      const clock = new NodeClock(ceiling, ceiling);
      clock.publishable(NOW + start, out);
      clock.persisted(1);
      ceiling = clock.ceiling;
    }
    expect(wallOf(ceiling)).toBeLessThan(NOW + 1_000 + 100 * 20 + 100);
  });

  it('a proposal above the ceiling brings a higher ceiling into its own batch (D7)', () => {
    const out = batches();
    const clock = new NodeClock(0, 0);
    const pt = clock.propose(NOW, 0, out);
    expect(out.records).toMatchObject([{ kind: 'meta', name: 'ceiling' }]);
    expect((out.records[0] as { value: number }).value).toBeGreaterThan(pt);
  });

  it('a ceiling counts as soon as it is on disk, although higher ones have been requested since (D7)', () => {
    const out = batches();
    const clock = new NodeClock(0, 0);
    let last = clock.publishable(NOW, out);
    for (let batch = 1; batch <= 5; batch++) {
      // A disk so slow that every batch finds the next ceiling requested.
      out.seq = batch + 1;
      clock.publishable(NOW + 600 * batch, out);
      expect(out.records).toHaveLength(batch + 1);
      clock.persisted(batch);
      expect(clock.ceiling).toBe((out.records[batch - 1] as { value: number }).value);
      const published = clock.publishable(NOW + 600 * batch, out);
      expect(published).toBeGreaterThan(last);
      last = published;
    }
  });

  it("a clock's proposals rise whatever the wall clock does", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ jump: fc.integer({ min: -5_000, max: 5_000 }), floor: fc.nat(1e9) })),
        (steps) => {
          const clock = new NodeClock(0, 0);
          let now = NOW;
          let last = 0;
          for (const { jump, floor } of steps) {
            now += jump;
            const pt = clock.propose(now, floor, batches());
            expect(pt).toBeGreaterThan(last);
            expect(pt).toBeGreaterThan(floor);
            last = pt;
          }
        },
      ),
    );
  });
});

describe('VersionVector', () => {
  it('a version vector reports an entry as durable only with the batch that wrote its groups (D1)', () => {
    const vv = new VersionVector([
      ['a', 0],
      ['b', 0],
    ]);
    vv.raise('a', 10, 1);
    vv.raise('b', 20, 0);
    expect([vv.applied('a'), vv.durable('a'), vv.durableMin]).toEqual([10, 0, 0]);
    vv.persisted(1);
    expect([vv.durable('a'), vv.durable('b'), vv.durableMin]).toEqual([10, 20, 10]);
  });

  it('an entry of a version vector never falls', () => {
    const vv = new VersionVector([['a', 5]]);
    vv.raise('a', 3, 0);
    expect(vv.applied('a')).toBe(5);
  });

  it('the durable part of a version vector is a prefix of the applied part, whatever is persisted when', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ by: fc.nat(10), wrote: fc.boolean(), persist: fc.boolean() })), (steps) => {
        const vv = new VersionVector([['a', 0]]);
        const written: { seq: number; ts: number }[] = [];
        let [seq, ts] = [1, 0];
        for (const { by, wrote, persist } of steps) {
          ts += by;
          vv.raise('a', ts, wrote ? seq : 0);
          if (wrote) written.push({ seq, ts });
          if (persist) vv.persisted(seq++);
          const lost = written.find((w) => w.seq >= seq && w.ts <= vv.durable('a') && w.ts > 0 && by > 0);
          if (lost !== undefined) expect(lost.ts).toBeLessThan(vv.durable('a') + 1);
          expect(vv.durable('a')).toBeLessThanOrEqual(vv.applied('a'));
        }
        vv.persisted(seq);
        expect(vv.durable('a')).toBe(ts);
      }),
    );
  });
});

describe('queues', () => {
  const recordAt = (pt: number) => ({
    pt,
    home: 'a',
    attempt: 0,
    sentAfter: 0,
    map: 0,
    cohorts: [0, 1],
    digest: '',
    coordinator: 'n',
    writes: [],
  });

  it('the committed queue drains all transactions of one ct as one group (P4)', () => {
    const queue = new CommittedQueue(0);
    const tx = (txId: string, ct: number) => ({ txId, ct, attempt: 0, digest: '', writes: [], record: recordAt(1) });
    for (const [txId, ct] of [
      ['c', 7],
      ['a', 5],
      ['b', 7],
      ['d', 9],
    ] as const)
      queue.add(tx(txId, ct));
    const groups = queue.drain(7);
    expect(groups.map((g) => [g.ct, g.txs.map((t) => t.txId)])).toEqual([
      [5, ['a']],
      [7, ['c', 'b']],
    ]);
    expect([queue.minCt(), queue.size, queue.get('a')]).toEqual([9, 1, undefined]);
  });

  it('the lowest proposal bounds what may be applied, in whatever order decisions arrive', () => {
    const queue = new PreparedQueue(0);
    for (const pt of [3, 5, 8]) queue.add({ txId: `t${pt}`, record: recordAt(pt), since: 0 });
    queue.remove('t5');
    expect(queue.minPt()).toBe(3);
    queue.remove('t3');
    expect(queue.minPt()).toBe(8);
    expect(() => queue.add({ txId: 'late', record: recordAt(8), since: 0 })).toThrow('rise');
  });
});

describe('replication ranges', () => {
  const group = (ct: number, txs: number, bytes: number) => ({
    ct,
    txs: Array.from({ length: txs }, (_, i) => ({
      txId: `${ct}.${i}`,
      writes: [{ key: 'default/k', value: 'x'.repeat(bytes) }],
    })),
  });

  it('a group that is cut counts with its last fragment only (P3)', () => {
    const cut = cutRanges(10, 30, [group(15, 1, 10), group(20, 5, 300_000), group(25, 1, 10)]);
    const fragments = cut.filter((s) => s.from === s.to);
    expect(fragments.length).toBeGreaterThan(1);
    for (const fragment of fragments) {
      expect(fragment.to).toBeLessThan(20);
      expect(fragment.groups.map((g) => g.ct)).toEqual([20]);
    }
    expect(cut.flatMap((s) => s.groups.flatMap((g) => g.txs.map((t) => t.txId)))).toEqual([
      '15.0',
      '20.0',
      '20.1',
      '20.2',
      '20.3',
      '20.4',
      '25.0',
    ]);
  });

  it('ranges follow on each other without a gap, and no whole group lies outside of its own', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ step: fc.integer({ min: 1, max: 5 }), txs: fc.integer({ min: 1, max: 4 }), kib: fc.nat(400) }),
          {
            maxLength: 12,
          },
        ),
        (specs) => {
          let ct = 0;
          const groups = specs.map(({ step, txs, kib }) => {
            ct += step;
            return group(ct, txs, kib * 1024);
          });
          const cut = cutRanges(0, ct + 3, groups);
          let at = 0;
          for (const { from, to, groups: part } of cut) {
            expect(from).toBe(at);
            if (to > from) for (const g of part) expect(g.ct > from && g.ct <= to).toBe(true);
            at = to;
          }
          expect(at).toBe(ct + 3);
          expect(cut.flatMap((s) => s.groups.flatMap((g) => g.txs))).toEqual(groups.flatMap((g) => g.txs));
        },
      ),
      { numRuns: 40 },
    );
  });
});

const SERVICE = { served: 3, wanted: 0, fence: 0 };

describe('aggregation', () => {
  it("the served time is the lowest of all nodes' latest reports, and the time that callers wait for the highest (P14)", () => {
    const at = (served: number, wanted: number) => ({ ...SERVICE, gst: null, sOld: 1, regional: [], served, wanted });
    const members = new Aggregator(['a', 'b']);
    members.report('a', at(7, 9));
    members.report('b', at(5, 0));
    expect(aggregate(members.complete()!)).toMatchObject({ served: 5, wanted: 9 });
    // Its disk was rolled back: it serves less than it did.
    members.report('b', at(2, 0));
    expect(aggregate(members.complete()!)).toMatchObject({ served: 2 });
  });

  it('aggregation takes minima entry by entry, and a node without replicas is absent, not infinite (P13)', () => {
    expect(
      aggregate([
        { gst: null, sOld: 5, regional: [], ...SERVICE },
        { gst: 9, sOld: 7, regional: [], ...SERVICE },
        { gst: 8, sOld: 6, regional: [], ...SERVICE },
      ]),
    ).toEqual({ gst: 8, sOld: 5, regional: [], ...SERVICE });
    const alone = { gst: null, sOld: 5, regional: [], ...SERVICE };
    expect(aggregate([alone])).toEqual(alone);
    expect(aggregate([])).toBeUndefined();
    const regional = [
      [5, 9],
      [7, 2],
    ].map((entries) => ({ gst: 1, sOld: 1, regional: entries, ...SERVICE }));
    expect(aggregate(regional)).toEqual({ gst: 1, sOld: 1, regional: [5, 2], ...SERVICE });
  });

  it('an aggregator gives no result until every member has reported (P13)', () => {
    const members = new Aggregator(['a', 'b']);
    members.report('a', { gst: 1, sOld: 1, regional: [], ...SERVICE });
    expect(members.complete()).toBeUndefined();
    expect(members.missing).toEqual(['b']);
    members.report('b', { gst: 2, sOld: 2, regional: [], ...SERVICE });
    expect([...members.complete()!]).toHaveLength(2);
  });

  it('the report of a member that lost its disk is dropped: no result until it has reported again (D10)', () => {
    const members = new Aggregator(['a', 'b']);
    members.report('a', { gst: 9, sOld: 9, regional: [], ...SERVICE });
    members.report('b', { gst: 9, sOld: 9, regional: [], ...SERVICE });
    members.drop('b');
    expect(members.complete()).toBeUndefined();
    members.report('b', { gst: 2, sOld: 2, regional: [], ...SERVICE });
    expect(aggregate(members.complete()!)).toEqual({ gst: 2, sOld: 2, regional: [], ...SERVICE });
  });

  it('a lower report of a restarted member does not lower the minimum', () => {
    const members = new Aggregator(['a']);
    members.report('a', { gst: 9, sOld: 9, regional: [], ...SERVICE });
    members.report('a', { gst: 4, sOld: 4, regional: [], ...SERVICE });
    expect([...members.complete()!]).toEqual([{ gst: 9, sOld: 4, regional: [], ...SERVICE }]);
  });

  it('every node of a region is in the tree once, below one root', () => {
    const nodes = Array.from({ length: 23 }, (_, i) => `n${i}`);
    const children = nodes.flatMap((node) => treeOf(nodes, node, 3).children);
    expect(new Set(children)).toEqual(new Set(nodes.slice(1)));
    for (const node of nodes)
      for (const child of treeOf(nodes, node, 3).children) expect(treeOf(nodes, child, 3).parent).toBe(node);
  });
});

describe('RecentOutcomes', () => {
  const outcome = (ts: number) => ({ status: 'committed' as const, ts, attempt: 0, digest: 'd' });
  const MANY = 8_192;

  it('recent outcomes recognise a new transaction without the disk if its sentAfter is above all evicted outcomes', () => {
    const recent = new RecentOutcomes(5);
    expect([recent.complete(5), recent.complete(6)]).toEqual([false, true]);
    recent.persisted(1);
    for (let i = 0; i <= MANY; i++) recent.add(`t${i}`, outcome(100 + i), 1);
    expect(recent.get('t0')).toBeUndefined();
    expect(recent.get(`t${MANY}`)?.ts).toBe(100 + MANY);
    const kept = Array.from({ length: MANY + 1 }, (_, i) => 100 + i).filter((ts) => recent.get(`t${ts - 100}`));
    expect(kept.length).toBeGreaterThanOrEqual(MANY / 2);
    expect([recent.complete(kept[0]! - 1), recent.complete(kept[0]!)]).toEqual([false, true]);
  });

  it('recent outcomes keep every outcome that is on its way to the disk', () => {
    const recent = new RecentOutcomes(0);
    for (let i = 0; i < 2 * MANY; i++) recent.add(`t${i}`, outcome(i), 1);
    expect(recent.get('t0')?.ts).toBe(0);
    recent.persisted(1);
    recent.add('last', outcome(3 * MANY), 2);
    expect(recent.get('t0')).toBeUndefined();
    expect(recent.get('last')).toBeDefined();
  });
});

describe('the rest of the kernel', () => {
  it('a claimed stable time is accepted as far as the own vectors reach, and counted beyond (P5)', () => {
    const stable = new StableTime(10);
    stable.bound({ durableMin: 20 });
    stable.learn(15);
    expect([stable.value, stable.aggregated, stable.refused]).toEqual([15, 10, 0]);
    stable.learn(100);
    expect([stable.value, stable.refused]).toEqual([20, 1]);
    stable.aggregate(18, 5);
    expect([stable.value, stable.aggregated, stable.sOld]).toEqual([20, 18, 5]);
  });

  it('a served time never falls, and one above the own stable time is rejected (P14, D12)', () => {
    const stable = new StableTime(10);
    stable.want(15);
    stable.aggregate(20, 5, 12);
    expect([stable.served, stable.wanted]).toEqual([12, 15]);
    stable.aggregate(21, 5, 22);
    stable.aggregate(21, 5, 11);
    expect([stable.served, stable.wanted]).toEqual([12, 15]);
    stable.aggregate(22, 5, 16);
    expect([stable.served, stable.wanted]).toEqual([16, 0]);
  });

  it('a transaction is open for its lease, and the table remembers its end', () => {
    const table = new TransactionTable(1_000);
    table.open('a', { ts: 7 }, 7, 0);
    table.open('b', { ts: 5 }, 5, 500);
    expect([table.oldest(), table.expire(1_000), table.oldest()]).toEqual([5, 1, 5]);
    table.end('b', 'ended');
    expect([table.whyNotOpen('a').code, table.whyNotOpen('b').code, table.whyNotOpen('c').code]).toEqual([
      'TRANSACTION_EXPIRED',
      'TRANSACTION_FINISHED',
      'TRANSACTION_UNKNOWN',
    ]);
    expect(table.oldest()).toBeUndefined();
  });

  it('a resolution decides when every cohort is prepared, at the greatest proposal (D2)', () => {
    const resolution = new Resolution('t', [1, 2, 3], { partition: 1, pt: 10 }, 0);
    expect(resolution.ask(0)).toEqual([2, 3]);
    expect(resolution.ask(1)).toEqual([]);
    resolution.prepared(3, 30);
    resolution.prepared(9, 99);
    expect(resolution.decided()).toBeUndefined();
    expect(resolution.ask(10_000)).toEqual([2]);
    resolution.prepared(2, 20);
    expect(resolution.decided()).toBe(30);
  });

  it('the digest differs for other writes, another order of bytes and another principal', () => {
    const writes = [{ key: 'default/a', value: '1' }];
    const digests = [
      digestWrites(writes, 'p'),
      digestWrites(writes, 'q'),
      digestWrites([{ key: 'default/a', value: '2' }], 'p'),
      digestWrites([{ key: 'default/a', value: null }], 'p'),
      digestWrites([{ key: 'default/a', value: new Uint8Array([49]) }], 'p'),
      digestWrites([{ key: 'default/a', value: '12' }], 'p'),
      digestWrites([{ key: 'default/a', value: '13' }], 'p'),
      digestWrites([{ key: 'default/a', value: new Uint8Array([49, 50]) }], 'p'),
      digestWrites([{ key: 'default/a', value: new Uint8Array([49, 51]) }], 'p'),
      digestWrites([{ key: 'default/a1', value: '' }], 'p'),
    ];
    expect(new Set(digests).size).toBe(digests.length);
    expect(digestWrites([...writes], 'p')).toBe(digests[0]);
  });

  it("a node counts as wrong when most of its peers' clocks differ from its own (T1)", () => {
    const watch = new DriftWatch(1_000);
    watch.observe('a', 5_000, 0);
    expect(watch.excessive).toBe(true);
    watch.observe('b', 10, 0); // one of two is wild
    expect([watch.excessive, watch.medianMs]).toEqual([false, 10]);
    watch.observe('c', 20, 0);
    expect([watch.excessive, watch.medianMs]).toEqual([false, 20]);
  });
});
