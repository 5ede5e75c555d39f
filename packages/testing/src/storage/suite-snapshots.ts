/// <reference types="jest" />
/**
 * The acceptance tests of snapshots that are more than one timestamp: dependencies of versions, `find`, and `list` with
 * a predicate.
 */
import type { DurableRecord, ListPage, LoggedTx, StoredVersion } from '@isochron/core';
import { collect, dependent, FOREVER, keysOf, P, prepared, put, range, type StoreCase, v } from './suite-fixtures.js';

/** Versions that depend on nothing above `limit`. */
const dependsUpTo =
  (limit: number) =>
  ({ deps = [] }: StoredVersion): boolean =>
    deps.every((entry) => entry <= limit);
const all = () => true;
const none = () => false;

/** Dependencies, `find`, and `list` with a predicate. */
export function snapshotCases(on: StoreCase): void {
  describe('dependencies', () => {
    const logged = (ct: number, tx: LoggedTx): DurableRecord => ({
      kind: 'applied',
      partition: P,
      ct,
      tx,
      region: 'virginia',
      log: 'own',
    });
    const writes = [{ key: 'a', value: '1' }];

    it('dependencies of versions are kept, also deep in a long chain and in copies, and none stay none', async () => {
      const chain = Array.from({ length: 100 }, (_, i) => (i % 3 === 0 ? v(10 + i) : dependent(10 + i, [i, 2 ** 52])));
      await on.store.commit([...chain.map((version) => put('a', version)), put('b', dependent(7, [0], null))]);
      for (const round of ['open', 'reopened']) {
        for (const version of chain) expect([round, on.store.read(P, 'a', version.ts)]).toStrictEqual([round, version]);
        expect(on.store.read(P, 'b', 7)).toStrictEqual(dependent(7, [0], null));
        const { chains } = await on.copy('');
        expect(chains.map(({ versions }) => versions)).toStrictEqual([chain, [dependent(7, [0], null)]]);
        await on.reopen();
      }
    });

    it('dependencies that name keys are kept', async () => {
      const depends = [
        { key: 'k', source: 1, ts: 9, near: true },
        { key: 'l', source: 0, ts: 2 ** 52 },
      ];
      const chain = [{ ...v(10), depends }, v(11), { ...dependent(12, [3]), depends }];
      await on.store.commit(chain.map((version) => put('a', version)));
      for (const round of ['open', 'reopened']) {
        for (const version of chain) expect([round, on.store.read(P, 'a', version.ts)]).toStrictEqual([round, version]);
        await on.reopen();
      }
    });

    it('dependencies of logged transactions are kept, and none stay none', async () => {
      const txs = [
        { txId: 'one', writes, deps: [3] },
        { txId: 'several', writes: [...writes, ...writes], deps: [0, 2 ** 52, 7] },
        { txId: 'unwritten', writes: [], deps: [4] },
        { txId: 'named', writes, depends: [{ key: 'k', source: 1, ts: 9, near: true }] },
        { txId: 'without', writes },
        { txId: 'without-both', writes: [] },
      ];
      await on.store.commit(txs.map((tx, i) => logged(10 + i, tx)));
      for (const round of ['open', 'reopened']) {
        const { groups } = await on.log(0, 100);
        expect([round, groups.flatMap((group) => group.txs)]).toStrictEqual([round, txs]);
        await on.reopen();
      }
    });

    it('dependencies of prepared transactions are kept, and none stay none', async () => {
      const records = [{ ...prepared, deps: [5, 2 ** 52] }, prepared];
      await on.store.commit(
        records.map((record, i) => ({ kind: 'prepared' as const, partition: P, txId: `t${i}`, record })),
      );
      await on.reopen();
      expect((await on.store.recover()).prepared.map(({ record }) => record)).toStrictEqual(records);
    });
  });

  describe('find', () => {
    it('find returns the freshest version that belongs, whichever others are fresher or have a higher timestamp', async () => {
      await on.store.commit([
        put('a', dependent(10, [5])),
        put('a', dependent(20, [90])),
        put('a', dependent(30, [50])),
      ]);
      expect(on.store.find(P, 'a', dependsUpTo(4))).toBeUndefined();
      expect(on.store.find(P, 'a', dependsUpTo(49))?.ts).toBe(10);
      expect(on.store.find(P, 'a', dependsUpTo(50))).toEqual(dependent(30, [50]));
      expect(on.store.find(P, 'a', (version) => version.ts < 30)?.ts).toBe(20);
      expect(on.store.find(P, 'a', none)).toBeUndefined();
      expect(on.store.find(P, 'absent', all)).toBeUndefined();
      expect(on.store.find(P + 1, 'a', all)).toBeUndefined();
    });

    it('find orders versions of one timestamp by transaction id, then region', async () => {
      const ties = [v(10, '1', 'b', 'z'), v(10, '2', 'c', 'a'), v(10, '3', 'c', 'b'), v(10, '4', 'a', 'z')];
      await on.store.commit(ties.map((version) => put('a', version)));
      for (let round = 0; round < 2; round++) {
        expect(on.store.find(P, 'a', all)?.value).toBe('3');
        expect(on.store.find(P, 'a', ({ region }) => region === 'z')?.value).toBe('1');
        await on.reopen();
      }
    });

    it('find returns a tombstone as a version without value', async () => {
      await on.store.commit([put('a', v(10)), put('a', v(20, null))]);
      expect(on.store.find(P, 'a', all)).toEqual(v(20, null));
      expect(on.store.find(P, 'a', ({ ts }) => ts < 20)).toEqual(v(10));
    });

    it('find sees a version before its commit is durable, among those on disk', async () => {
      await on.store.commit([put('a', v(10)), put('a', v(30))]);
      await on.reopen();
      const done = on.store.commit([put('a', dependent(20, [1])), put('a', dependent(40, [99])), put('b', v(10))]);
      for (let round = 0; round < 2; round++) {
        expect(on.store.find(P, 'a', ({ ts }) => ts < 30)).toEqual(dependent(20, [1]));
        expect(on.store.find(P, 'a', dependsUpTo(50))?.ts).toBe(30);
        expect(on.store.find(P, 'b', all)?.ts).toBe(10);
        await done;
      }
    });

    it('find returns any version of a long chain, in memory or not', async () => {
      const times = Array.from({ length: 300 }, (_, i) => 10 * (i + 1));
      await on.store.commit(times.map((ts) => put('a', v(ts))));
      for (let round = 0; round < 2; round++) {
        expect(times.map((wanted) => on.store.find(P, 'a', ({ ts }) => ts === wanted)?.ts)).toEqual(times);
        expect(times.map((wanted) => on.store.find(P, 'a', ({ ts }) => ts <= wanted)?.ts)).toEqual(times);
        expect(on.store.find(P, 'a', none)).toBeUndefined();
        await on.reopen();
      }
    });

    it('find reads any version of a chain that was prefetched', async () => {
      await on.store.commit([...Array(100).keys()].map((i) => put('a', v(10 + i))));
      const needs = { kind: 'chains', partition: P, keys: ['a', 'absent'] } as const;
      await on.reopen();
      await on.store.prefetch(needs);
      expect(on.store.find(P, 'a', ({ ts }) => ts === 10)).toEqual(v(10));
      expect(on.store.find(P, 'absent', all)).toBeUndefined();
      expect(on.store.read(P, 'a', FOREVER)?.ts).toBe(109);
    });

    it('find returns every version while a commit changes the chain that is being brought to memory', async () => {
      const times = Array.from({ length: 300 }, (_, i) => 10 * (i + 1));
      await on.store.commit(times.map((ts) => put('a', v(ts))));
      const needs = { kind: 'chains', partition: P, keys: ['a'] } as const;
      // One begins a little later than the other, a little more each time, so that it meets every step of the other.
      for (let delay = -20; delay < 20; delay++) {
        await on.reopen();
        await on.store.prefetch({ ...needs, kind: 'keys' });
        const late = [1500 + 50 * delay + 5, 1500 + 50 * delay + 6, 5000 + delay];
        times.push(...late);
        const commit = () => on.store.commit(late.map((ts) => put('a', v(ts))));
        const prefetch = () => on.store.prefetch(needs);
        const first = delay < 0 ? commit() : prefetch();
        for (let i = 0; i < Math.abs(delay); i++) await Promise.resolve();
        await Promise.all([first, delay < 0 ? prefetch() : commit()]);
        for (const ts of late) {
          expect([delay, on.store.find(P, 'a', (version) => version.ts <= ts)?.ts]).toEqual([delay, ts]);
          expect([delay, on.store.read(P, 'a', ts)?.ts]).toEqual([delay, ts]);
        }
        const seen = new Set<number>();
        on.store.find(P, 'a', ({ ts }) => seen.add(ts) === undefined);
        expect([...seen].sort((a, b) => a - b)).toEqual([...times].sort((a, b) => a - b));
      }
    });

    it('find returns the versions that collection keeps: the newest one at or below the floor and everything above', async () => {
      await on.store.commit([
        put('a', dependent(10, [1])),
        put('a', dependent(20, [90])),
        put('a', dependent(30, [95])),
      ]);
      await on.store.commit([collect(25)]);
      await on.store.commit([put('a', dependent(40, [2]))]);
      await on.reopen();
      expect(on.store.find(P, 'a', dependsUpTo(1))).toBeUndefined();
      expect(on.store.find(P, 'a', ({ ts }) => ts <= 25)?.ts).toBe(20);
      expect(on.store.find(P, 'a', dependsUpTo(2))?.ts).toBe(40);
    });
  });

  describe('list with a predicate', () => {
    it('list with a predicate lists the keys whose freshest version that belongs has a value, in order', async () => {
      await on.store.commit([
        put('c', v(10)),
        put('a', dependent(10, [1])),
        put('a', dependent(20, [9])),
        put('b', v(10)),
        put('b', dependent(20, [5], null)),
        put('d', dependent(10, [9])),
      ]);
      for (let round = 0; round < 2; round++) {
        expect((await on.list(range(), dependsUpTo(4))).entries).toEqual([
          { key: 'a', version: dependent(10, [1]) },
          { key: 'b', version: v(10) },
          { key: 'c', version: v(10) },
        ]);
        expect(keysOf(await on.list(range(), dependsUpTo(5)))).toEqual(['a', 'c']);
        expect(keysOf(await on.list(range('b', 'd'), dependsUpTo(9)))).toEqual(['c']);
        expect(await on.list(range(), none)).toEqual({ entries: [], next: null });
        await on.reopen();
      }
    });

    it('list with a predicate goes through every key, page after page, past keys that do not belong', async () => {
      const keys = [...Array(25).keys()].map((i) => `k${String(i).padStart(2, '0')}`);
      await on.store.commit(keys.map((key, i) => put(key, dependent(10, [i % 5]))));
      const seen: string[] = [];
      for (let next: string | null = ''; next !== null; ) {
        const page: ListPage = await on.list(range(next, null, 4), dependsUpTo(0));
        expect(page.entries.length).toBeLessThanOrEqual(4);
        seen.push(...keysOf(page));
        next = page.next;
      }
      expect(seen).toEqual(['k00', 'k05', 'k10', 'k15', 'k20']);
    });

    it('list with a predicate finds old versions of long chains', async () => {
      await on.store.commit([...Array(100).keys()].map((i) => put('a', dependent(10 + i, [i]))));
      await on.reopen();
      expect((await on.list(range(), dependsUpTo(27))).entries).toEqual([{ key: 'a', version: dependent(37, [27]) }]);
    });

    it('list with a predicate answers different snapshots from one page, with the commits since the prefetch', async () => {
      await on.store.commit([put('b', v(10)), put('d', v(10))]);
      const needs = { kind: 'list', partition: P, range: range('', null, 3), snapshot: 'any' } as const;
      await on.store.prefetch(needs);
      expect(on.store.resident(needs)).toBe(true);
      const late = on.store.commit([put('a', dependent(30, [9])), put('d', dependent(30, [9], null)), put('e', v(60))]);
      const shown = (limit: number) => keysOf(on.store.list(P, needs.range, dependsUpTo(limit)));
      expect([shown(9), shown(8)]).toEqual([
        ['a', 'b', 'e'],
        ['b', 'd', 'e'],
      ]);
      await late;
    });
  });
}
