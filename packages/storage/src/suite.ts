/// <reference types="jest" />
/**
 * What every {@link VersionStore} must do, as tests. Each implementation runs it: `runVersionStoreSuite('memory', …)`.
 */
import type {
  DurableRecord,
  ListPage,
  ListRange,
  LogPage,
  OutcomeRecord,
  PreparedRecord,
  Timestamp,
  Version,
} from '@isochron/core';
import fc from 'fast-check';
import { checkAgainstModel, storeCommands } from './model.js';
import type { VersionStore } from './store.js';

/** A store under test and what is around it. */
export interface StoreHarness {
  readonly store: VersionStore;
  /** Closes the store and opens it again on the same data. */
  reopen(): Promise<VersionStore>;
  /** Closes the store and removes its data. */
  destroy(): Promise<void>;
}

/** Makes an empty store. */
export type StoreFactory = () => Promise<StoreHarness>;

const P = 3;
const FOREVER = 2 ** 50;

const v = (ts: Timestamp, value: Version['value'] = `"${ts}"`, txId = `tx${ts}`, region = 'virginia'): Version => ({
  ts,
  txId,
  region,
  value,
});
const put = (key: string, version: Version, partition = P): DurableRecord => ({
  kind: 'version',
  partition,
  key,
  version,
});
const logged = (ct: Timestamp, txId = `tx${ct}`, value = '"x"', partition = P): DurableRecord => ({
  kind: 'log',
  partition,
  ct,
  tx: { txId, writes: [{ key: 'a', value }] },
});
const collect = (floor: Timestamp, partition = P): DurableRecord => ({ kind: 'collect', partition, floor });
const outcomeAt = (ts: Timestamp): OutcomeRecord => ({ status: 'committed', ts, attempt: 0, digest: 'd' });
const ended = (txId: string, record: OutcomeRecord, partition = P): DurableRecord => ({
  kind: 'outcome',
  partition,
  txId,
  record,
});
const prepared: PreparedRecord = {
  pt: 77,
  home: 'oregon',
  attempt: 1,
  birth: 5,
  epoch: 2,
  cohorts: [1, P],
  digest: 'digest',
  coordinator: 'oregon-1',
  writes: [
    { key: 'a', value: '{"a":1}' },
    { key: 'b', value: null },
  ],
};

const range = (start = '', end: string | null = null, limit = 100): ListRange => ({ start, end, limit });
const txIds = (page: LogPage): string[] => page.groups.flatMap(({ txs }) => txs.map(({ txId }) => txId));
const keysOf = (page: ListPage): string[] => page.entries.map(({ key }) => key);

/** Registers the acceptance tests of one implementation. */
export function runVersionStoreSuite(name: string, factory: StoreFactory): void {
  describe(`VersionStore: ${name}`, () => {
    let harness: StoreHarness;
    let store: VersionStore;
    beforeEach(async () => {
      harness = await factory();
      store = harness.store;
    });
    afterEach(() => harness.destroy());

    const reopen = async () => {
      store = await harness.reopen();
    };
    const list = async (asked: ListRange, snapshot = FOREVER, partition = P): Promise<ListPage> => {
      await store.prefetch({ kind: 'list', partition, range: asked, snapshot });
      return store.list(partition, asked, snapshot);
    };
    const log = async (after: Timestamp, upTo: Timestamp, partition = P): Promise<LogPage> => {
      await store.prefetch({ kind: 'log', partition, after, upTo });
      return store.log(partition, after, upTo);
    };

    describe('versions', () => {
      it('returns the freshest version at or below the snapshot', async () => {
        await store.commit([put('a', v(10)), put('a', v(20)), put('a', v(30))]);
        expect(store.read(P, 'a', 9)).toBeUndefined();
        expect(store.read(P, 'a', 10)).toEqual(v(10));
        expect(store.read(P, 'a', 29)).toEqual(v(20));
        expect(store.read(P, 'a', FOREVER)).toEqual(v(30));
      });

      it('returns nothing for a key that was never written', () => {
        expect(store.read(P, 'missing', FOREVER)).toBeUndefined();
        expect(store.read(P, 'missing', FOREVER)).toBeUndefined();
      });

      it('shows a version before its commit is durable, also of a key that was read as absent', async () => {
        expect(store.read(P, 'a', FOREVER)).toBeUndefined();
        const done = store.commit([put('a', v(10)), put('b', v(11))]);
        expect(store.read(P, 'a', FOREVER)).toEqual(v(10));
        expect(store.read(P, 'b', FOREVER)).toEqual(v(11));
        await done;
        expect(store.read(P, 'a', FOREVER)).toEqual(v(10));
      });

      it('merges what is staged with what is on disk', async () => {
        await store.commit([put('a', v(10)), put('a', v(30))]);
        await reopen();
        const done = store.commit([put('a', v(20))]);
        expect([10, 20, 29, 30].map((ts) => store.read(P, 'a', ts)?.ts)).toEqual([10, 20, 20, 30]);
        await done;
        expect([10, 20, 29, 30].map((ts) => store.read(P, 'a', ts)?.ts)).toEqual([10, 20, 20, 30]);
      });

      it('orders versions of one timestamp by transaction id, then region', async () => {
        const ties = [v(10, '1', 'b', 'z'), v(10, '2', 'c', 'a'), v(10, '3', 'c', 'b'), v(10, '4', 'a', 'z')];
        await store.commit(ties.map((version) => put('a', version)));
        expect(store.read(P, 'a', 10)?.value).toBe('3');
        await reopen();
        expect(store.read(P, 'a', 10)?.value).toBe('3');
      });

      it('does not depend on the order of arrival', async () => {
        for (const ts of [30, 10, 20]) await store.commit([put('a', v(ts))]);
        expect([10, 20, 30].map((ts) => store.read(P, 'a', ts)?.ts)).toEqual([10, 20, 30]);
      });

      it('keeps the first of two versions with the same timestamp, transaction and region', async () => {
        await store.commit([put('a', v(10, '"first"'))]);
        await store.commit([put('a', v(10, '"second"')), put('a', v(10, '"third"'))]);
        expect(store.read(P, 'a', 10)?.value).toBe('"first"');
        expect(store.stats().partitions.get(P)).toEqual({ keys: 1, versions: 1 });
      });

      it('returns a tombstone as a version without value', async () => {
        await store.commit([put('a', v(10)), put('a', v(20, null))]);
        expect(store.read(P, 'a', 15)).toEqual(v(10));
        expect(store.read(P, 'a', 20)).toEqual(v(20, null));
      });

      it('keeps bytes as bytes and text as text, of any size', async () => {
        const large = `"${'é😀'.repeat(100_000)}"`;
        await store.commit([
          put('bytes', v(1, new Uint8Array([0, 255, 7]))),
          put('text', v(2, large)),
          put('empty', v(3, '')),
        ]);
        for (const round of ['open', 'reopened']) {
          const bytes = store.read(P, 'bytes', 9)?.value;
          expect(bytes).toBeInstanceOf(Uint8Array);
          expect([round, ...(bytes as Uint8Array)]).toEqual([round, 0, 255, 7]);
          expect(store.read(P, 'text', 9)?.value).toBe(large);
          expect(store.read(P, 'empty', 9)?.value).toBe('');
          await reopen();
        }
      });

      it('does not follow later changes of the frame that a value was a view of', async () => {
        const frame = new Uint8Array(100_000);
        await store.commit([put('a', v(10, frame.subarray(10, 12)))]);
        frame.fill(9);
        expect(store.read(P, 'a', 10)?.value).toEqual(new Uint8Array(2));
      });

      it('keeps partitions apart', async () => {
        await store.commit([put('a', v(10), 1), put('a', v(20), 2)]);
        expect(store.read(1, 'a', FOREVER)?.ts).toBe(10);
        expect(store.read(2, 'a', FOREVER)?.ts).toBe(20);
        expect(store.read(0, 'a', FOREVER)).toBeUndefined();
      });

      it('says that keys are resident once they were prefetched', async () => {
        await store.commit([put('a', v(10))]);
        await reopen();
        await store.prefetch({ kind: 'keys', partition: P, keys: ['a', 'absent'] });
        expect(store.resident({ kind: 'keys', partition: P, keys: ['a', 'absent'] })).toBe(true);
        expect(store.read(P, 'a', FOREVER)).toEqual(v(10));
        expect(store.read(P, 'absent', FOREVER)).toBeUndefined();
      });
    });

    describe('long chains', () => {
      const all = Array.from({ length: 500 }, (_, i) => 10 * (i + 1));

      it('finds every version of a chain that grew by one at a time', async () => {
        for (const ts of all) await store.commit([put('a', v(ts))]);
        for (const round of [1, 2]) {
          for (const ts of all) expect([round, store.read(P, 'a', ts + 5)?.ts]).toEqual([round, ts]);
          expect(store.read(P, 'a', 9)).toBeUndefined();
          await reopen();
        }
      });

      it('finds every version of a chain that was written at once', async () => {
        await store.commit(all.map((ts) => put('a', v(ts))));
        await reopen();
        for (const ts of all) expect(store.read(P, 'a', ts)?.ts).toBe(ts);
        expect(store.stats().partitions.get(P)).toEqual({ keys: 1, versions: 500 });
      });

      it('takes late versions anywhere in a long chain, staged and stored', async () => {
        await store.commit(all.map((ts) => put('a', v(ts))));
        await reopen();
        const late = [3, 7, 15, 1005, 1006, 2555, 4999, 4999, 5001, 10];
        const done = store.commit(late.map((ts) => put('a', v(ts))));
        const expected = [...new Set([...all, ...late])].sort((a, b) => a - b);
        for (const ts of expected) expect(store.read(P, 'a', ts)?.ts).toBe(ts);
        await done;
        for (const ts of expected) expect(store.read(P, 'a', ts)?.ts).toBe(ts);
        await reopen();
        for (const ts of expected) expect(store.read(P, 'a', ts)?.ts).toBe(ts);
        expect(store.stats().partitions.get(P)?.versions).toBe(expected.length);
      });

      it('takes a long run of late versions below everything', async () => {
        await store.commit(all.map((ts) => put('a', v(ts + 100_000))));
        await reopen();
        for (let i = 0; i < all.length; i += 50) await store.commit(all.slice(i, i + 50).map((ts) => put('a', v(ts))));
        await reopen();
        for (const ts of all) expect(store.read(P, 'a', ts)?.ts).toBe(ts);
        for (const ts of all) expect(store.read(P, 'a', ts + 100_000)?.ts).toBe(ts + 100_000);
      });

      it('reads large old values while the batch that displaced them is on its way', async () => {
        const large = (ts: number) => v(ts, `"${String(ts).repeat(50_000)}"`);
        await store.commit([put('a', large(10))]);
        const commits = [20, 30, 40].map((ts) => store.commit([put('a', large(ts))]));
        for (let done = false; !done; ) {
          for (const ts of [10, 20, 30, 40]) expect(store.read(P, 'a', ts)?.ts).toBe(ts);
          done = await Promise.race([
            Promise.all(commits).then(() => true),
            new Promise<boolean>((r) => setImmediate(r, false)),
          ]);
        }
        for (const ts of [10, 20, 30, 40]) expect(store.read(P, 'a', ts)?.ts).toBe(ts);
      });
    });

    describe('collect', () => {
      /** Collection is lazy: gives it enough occasions to reach everything. */
      const settle = async (floor: Timestamp, done: () => boolean) => {
        for (let i = 0; i < 200 && !done(); i++) {
          await store.commit([collect(floor + i)]);
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      const versions = () => store.stats().partitions.get(P)?.versions ?? 0;

      it('keeps the newest version at or below the floor and everything above', async () => {
        await store.commit([10, 20, 30, 40].map((ts) => put('a', v(ts))));
        await store.commit([collect(25)]);
        await settle(25, () => versions() === 3);
        expect(versions()).toBe(3);
        expect([26, 30, 40].map((ts) => store.read(P, 'a', ts)?.ts)).toEqual([20, 30, 40]);
        await reopen();
        expect([25, 30, 40].map((ts) => store.read(P, 'a', ts)?.ts)).toEqual([20, 30, 40]);
      });

      it('answers a read at the floor from the version below it', async () => {
        await store.commit([put('a', v(10)), put('a', v(50))]);
        await store.commit([collect(49)]);
        await store.commit([put('a', v(60))]);
        expect(store.read(P, 'a', 49)?.ts).toBe(10);
      });

      it('drops a tombstone with what it hides, and the key with it', async () => {
        await store.commit([put('a', v(10)), put('a', v(20, null)), put('b', v(10))]);
        await store.commit([collect(30)]);
        await settle(30, () => versions() === 1);
        expect(store.stats().partitions.get(P)).toEqual({ keys: 1, versions: 1 });
        expect(store.read(P, 'a', 100)).toBeUndefined();
        await reopen();
        expect(store.read(P, 'a', 100)).toBeUndefined();
        expect(keysOf(await list(range()))).toEqual(['b']);
      });

      it('never lets a deleted value show again', async () => {
        await store.commit([...Array(40).keys()].map((i) => put('a', v(10 + i))));
        await store.commit([put('a', v(100, null))]);
        for (let floor = 20; floor < 140; floor += 10) {
          await store.commit([collect(floor)]);
          expect(store.read(P, 'a', 200)?.value ?? null).toBeNull();
          await reopen();
          expect(store.read(P, 'a', 200)?.value ?? null).toBeNull();
        }
      });

      it('keeps a tombstone above the floor', async () => {
        await store.commit([put('a', v(10)), put('a', v(20, null))]);
        await settle(15, () => false);
        expect(store.read(P, 'a', 1000)?.value ?? null).toBeNull();
      });

      it('prunes a chain that is written again', async () => {
        await store.commit([put('a', v(10)), put('a', v(20)), collect(25)]);
        await store.commit([put('a', v(30))]);
        expect(versions()).toBe(2);
      });

      it('reaches long chains and keys that it knew before a restart', async () => {
        const keys = [...Array(300).keys()].map((i) => `k${i}`);
        await store.commit(keys.flatMap((key) => [put(key, v(10)), put(key, v(20))]));
        await store.commit([...Array(300).keys()].map((i) => put('long', v(10 + i))));
        await reopen();
        await settle(1000, () => versions() === 301);
        expect(store.stats().partitions.get(P)).toEqual({ keys: 301, versions: 301 });
        expect(store.read(P, 'long', 2000)?.ts).toBe(309);
        await reopen();
        expect(store.read(P, 'k299', 2000)?.ts).toBe(20);
        expect(store.read(P, 'long', 2000)?.ts).toBe(309);
      });

      it('keeps the floor over a restart and never lowers it', async () => {
        await store.commit([collect(50)]);
        await store.commit([collect(40)]);
        await reopen();
        expect((await store.recover()).meta.get(`gcFloor/${P}`)).toBe(50);
      });

      it('takes an old version of a key that has none, for a refill', async () => {
        await store.commit([collect(50)]);
        await store.commit([put('a', v(10))]);
        expect(store.read(P, 'a', 50)?.ts).toBe(10);
      });
    });

    describe('list', () => {
      it('lists keys with a value in the snapshot, in order, without tombstones', async () => {
        await store.commit([put('c', v(10)), put('a', v(10)), put('b', v(10)), put('b', v(20, null)), put('d', v(30))]);
        expect(keysOf(await list(range(), 10))).toEqual(['a', 'b', 'c']);
        expect(keysOf(await list(range(), 25))).toEqual(['a', 'c']);
        expect((await list(range(), 30)).entries[2]).toEqual({ key: 'd', version: v(30) });
      });

      it('cuts pages at the limit and says where the next one starts', async () => {
        const keys = [...Array(25).keys()].map((i) => `k${String(i).padStart(2, '0')}`);
        await store.commit(keys.map((key) => put(key, v(10))));
        const seen: string[] = [];
        for (let next: string | null = ''; next !== null; ) {
          const page: ListPage = await list(range(next, null, 10));
          expect(page.entries.length).toBeLessThanOrEqual(10);
          seen.push(...keysOf(page));
          next = page.next;
        }
        expect(seen).toEqual(keys);
      });

      it('begins at the start and ends before the end of the range', async () => {
        await store.commit(['a', 'b', 'c', 'd'].map((key) => put(key, v(10))));
        expect(await list(range('b', 'd'))).toEqual({
          entries: [
            { key: 'b', version: v(10) },
            { key: 'c', version: v(10) },
          ],
          next: null,
        });
      });

      it('orders keys by their UTF-8 bytes', async () => {
        const ordered = ['', '\0', 'a', 'a\0', 'a/b', 'ab', 'z', 'é', '￿', '😀', '😀a'];
        await store.commit([...ordered].reverse().map((key) => put(key, v(10))));
        expect(keysOf(await list(range()))).toEqual(ordered);
        expect(keysOf(await list(range('￿', '😀a')))).toEqual(['￿', '😀']);
      });

      it('does not run into the next partition', async () => {
        await store.commit([put('a', v(10), P - 1), put('b', v(10)), put('c', v(10), P + 1)]);
        expect(keysOf(await list(range()))).toEqual(['b']);
      });

      it('sees what is staged, also between the prefetch and the use', async () => {
        await store.commit([put('b', v(10)), put('d', v(10))]);
        void store.commit([put('c', v(20))]);
        const needs = { kind: 'list', partition: P, range: range('', null, 3), snapshot: 50 } as const;
        await store.prefetch(needs);
        expect(store.resident(needs)).toBe(true);
        const late = store.commit([put('a', v(30)), put('d', v(30, null)), put('e', v(60))]);
        const page = store.list(P, needs.range, needs.snapshot);
        expect(keysOf(page)).toEqual(['a', 'b', 'c']);
        await late;
        if (page.next !== null) expect(keysOf(await list(range(page.next), 50))).toEqual([]);
      });

      it('finds old versions of long chains', async () => {
        await store.commit([...Array(100).keys()].map((i) => put('a', v(10 + i))));
        await reopen();
        expect((await list(range(), 37)).entries).toEqual([{ key: 'a', version: v(37) }]);
        expect((await list(range(), 9)).entries).toEqual([]);
      });

      it('serves the same page to two readers at once', async () => {
        await store.commit([put('a', v(10))]);
        const pages = await Promise.all([list(range()), list(range()), list(range())]);
        expect(pages.map(keysOf)).toEqual([['a'], ['a'], ['a']]);
      });

      it('ends a page of large values early', async () => {
        const value = `"${'x'.repeat(1_000_000)}"`;
        await store.commit([...Array(12).keys()].map((i) => put(`k${i}`, v(10, value))));
        const page = await list(range());
        expect(page.entries.length).toBeLessThan(12);
        expect(page.next).toBe([...Array(12).keys()].map((i) => `k${i}`).sort()[page.entries.length]);
      });
    });

    describe('log', () => {
      it('returns the groups after one timestamp up to another, in order, each whole', async () => {
        await store.commit([logged(20, 'b'), logged(10), logged(20, 'a'), logged(30), logged(40)]);
        const page = await log(10, 30);
        expect(page.groups.map(({ ct }) => ct)).toEqual([20, 30]);
        expect(txIds(page)).toEqual(['a', 'b', 'tx30']);
        expect(page.upTo).toBe(30);
        expect(page.groups[1]!.txs[0]).toEqual({ txId: 'tx30', writes: [{ key: 'a', value: '"x"' }] });
      });

      it('shows entries before they are durable', async () => {
        const done = store.commit([logged(10)]);
        expect(txIds(await log(0, 100))).toEqual(['tx10']);
        await done;
      });

      it('has the log after a restart, and what is added to it later', async () => {
        await store.commit([logged(10), logged(20)]);
        await reopen();
        expect(txIds(await log(0, 100))).toEqual(['tx10', 'tx20']);
        await store.commit([logged(30), logged(15)]);
        expect(txIds(await log(0, 100))).toEqual(['tx10', 'tx15', 'tx20', 'tx30']);
        expect(txIds(await log(20, 100))).toEqual(['tx30']);
      });

      it('sees entries that came between the prefetch and the use', async () => {
        await store.commit([logged(10), logged(20)]);
        await reopen();
        await store.prefetch({ kind: 'log', partition: P, after: 0, upTo: 20 });
        const late = store.commit([logged(15)]);
        expect(txIds(store.log(P, 0, 20))).toEqual(['tx10', 'tx15', 'tx20']);
        await late;
      });

      it('cuts long stretches into pages but never inside a group', async () => {
        const records = [...Array(2500).keys()].map((i) =>
          logged(10 + Math.floor(i / 400), `t${String(i).padStart(4, '0')}`),
        );
        await store.commit(records);
        for (const round of [1, 2]) {
          const seen: string[] = [];
          let pages = 0;
          for (let after = 0; after < 100; pages++) {
            const page = await log(after, 100);
            for (const { ct, txs } of page.groups)
              expect([round, ct, txs.length]).toEqual([round, ct, ct === 16 ? 100 : 400]);
            seen.push(...txIds(page));
            after = page.upTo;
          }
          expect(seen.length).toBe(2500);
          expect(pages).toBe(3);
          await reopen();
        }
      });

      it('cuts pages of large transactions by size', async () => {
        await store.commit([...Array(10).keys()].map((i) => logged(10 + i, `t${i}`, `"${'x'.repeat(400_000)}"`)));
        const page = await log(0, 100);
        expect(page.groups.length).toBe(3);
        expect(page.upTo).toBe(12);
      });

      it('drops entries at or below a truncation, for good', async () => {
        await store.commit([logged(10), logged(20), logged(30)]);
        await store.commit([{ kind: 'truncateLog', partition: P, upTo: 20 }]);
        expect(txIds(await log(0, 100))).toEqual(['tx30']);
        await reopen();
        expect(txIds(await log(0, 100))).toEqual(['tx30']);
        await store.commit([{ kind: 'truncateLog', partition: P, upTo: 5 }]);
        expect(txIds(await log(0, 100))).toEqual(['tx30']);
      });

      it('keeps the logs of partitions apart', async () => {
        await store.commit([logged(10, 'a', '"x"', 1), logged(10, 'b', '"x"', 2)]);
        await reopen();
        expect(txIds(await log(0, 100, 1))).toEqual(['a']);
        expect(txIds(await log(0, 100, 2))).toEqual(['b']);
        expect(await log(0, 100, 0)).toEqual({ groups: [], upTo: 100 });
      });
    });

    describe('outcomes, prepared transactions and meta values', () => {
      it('knows how a transaction ended, at once and after a restart', async () => {
        const tombstone: OutcomeRecord = { status: 'aborted', ts: 20, attempt: 1, digest: null };
        const done = store.commit([ended('t1', outcomeAt(10)), ended('t2', tombstone)]);
        expect(store.outcome(P, 't1')).toEqual(outcomeAt(10));
        await done;
        await reopen();
        expect(store.outcome(P, 't1')).toEqual(outcomeAt(10));
        expect(store.outcome(P, 't2')).toEqual(tombstone);
        expect(store.outcome(P, 't3')).toBeUndefined();
        expect(store.outcome(P + 1, 't1')).toBeUndefined();
      });

      it('replaces an outcome by that of a later attempt', async () => {
        await store.commit([ended('t1', { status: 'aborted', ts: 10, attempt: 0, digest: null })]);
        await store.commit([ended('t1', { ...outcomeAt(50), attempt: 1 })]);
        await store.commit([{ kind: 'forget', partition: P, upTo: 30 }]);
        await reopen();
        await store.commit([{ kind: 'forget', partition: P, upTo: 31 }]);
        expect(store.outcome(P, 't1')).toEqual({ ...outcomeAt(50), attempt: 1 });
      });

      it('forgets outcomes below a horizon, and says where that is', async () => {
        await store.commit([10, 20, 30].map((ts) => ended(`t${ts}`, outcomeAt(ts))));
        await store.commit([{ kind: 'forget', partition: P, upTo: 20 }]);
        await store.commit([{ kind: 'forget', partition: P, upTo: 15 }]);
        for (const round of [1, 2]) {
          expect([round, store.outcome(P, 't10')]).toEqual([round, undefined]);
          expect(store.outcome(P, 't20')).toEqual(outcomeAt(20));
          expect((await store.recover()).meta.get(`forgottenUpTo/${P}`)).toBe(20);
          await reopen();
        }
      });

      it('recovers prepared transactions until they are removed', async () => {
        await store.commit([
          { kind: 'prepared', partition: P, txId: 't1', record: prepared },
          {
            kind: 'prepared',
            partition: 1,
            txId: 't2',
            record: { ...prepared, writes: [{ key: 'z', value: new Uint8Array([1]) }] },
          },
        ]);
        await reopen();
        const state = await store.recover();
        expect(state.prepared.map(({ partition, txId }) => [partition, txId])).toEqual([
          [1, 't2'],
          [P, 't1'],
        ]);
        expect(state.prepared[1]!.record).toEqual(prepared);
        expect([...(state.prepared[0]!.record.writes[0]!.value as Uint8Array)]).toEqual([1]);
        await store.commit([{ kind: 'prepared', partition: P, txId: 't1', record: null }]);
        await reopen();
        expect((await store.recover()).prepared.map(({ txId }) => txId)).toEqual(['t2']);
      });

      it('recovers meta values: timestamps, and timestamps by name', async () => {
        await store.commit([
          { kind: 'meta', name: 'ceiling', value: 5 },
          { kind: 'meta', name: 'vv/3', value: { virginia: 7, oregon: 2 ** 52 } },
          { kind: 'meta', name: 'ceiling', value: 9 },
        ]);
        await reopen();
        const { meta } = await store.recover();
        expect(meta.get('ceiling')).toBe(9);
        expect(meta.get('vv/3')).toEqual({ virginia: 7, oregon: 2 ** 52 });
        expect(meta.size).toBe(2);
      });
    });

    describe('commits', () => {
      it('become durable in the order of the calls', async () => {
        const order: number[] = [];
        const commits = [1, 2, 3, 4].map((n) =>
          store.commit([{ kind: 'meta', name: 'n', value: n }]).then(() => order.push(n)),
        );
        await Promise.all(commits);
        expect(order).toEqual([1, 2, 3, 4]);
        expect((await store.recover()).meta.get('n')).toBe(4);
      });

      it('are waited for by close, and refused after it', async () => {
        const commits = [...Array(20).keys()].map((i) => store.commit([put(`k${i}`, v(10))]));
        await reopen();
        await Promise.all(commits);
        for (let i = 0; i < 20; i++) expect(store.read(P, `k${i}`, 10)?.ts).toBe(10);
        await store.close();
        await expect(store.commit([put('a', v(10))])).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
      });

      it('count in the statistics', async () => {
        await store.commit([put('a', v(10)), put('b', v(10)), put('a', v(20, null))]);
        await store.commit([put('c', v(10), 1)]);
        expect(store.stats()).toMatchObject({ commits: { batches: 2, records: 4, waiting: 0 } });
        await reopen();
        expect(store.stats().partitions).toEqual(
          new Map([
            [P, { keys: 2, versions: 3 }],
            [1, { keys: 1, versions: 1 }],
          ]),
        );
      });
    });

    it('agrees with a naive model on random records and reads', async () => {
      await fc.assert(
        fc.asyncProperty(storeCommands, async (commands) => {
          const own = await factory();
          try {
            await checkAgainstModel(own, commands);
          } finally {
            await own.destroy();
          }
        }),
        { seed: 20_250_101, numRuns: 60 },
      );
    }, 60_000);
  });
}
