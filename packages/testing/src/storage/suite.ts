/// <reference types="jest" />
/**
 * The acceptance tests of every `VersionStore`. Each implementation runs them: `runVersionStoreSuite('memory', …)`.
 */
import type { CopyPage, ListPage, Timestamp } from '@isochron/core';
import { crc32 } from '@isochron/storage/crc32';
import fc from 'fast-check';
import { checkAgainstModel, storeCommands } from './model.js';
import { changesCases } from './suite-changes.js';
import { collect, eachWithStore, FOREVER, keysOf, P, put, range, type StoreFactory, v } from './suite-fixtures.js';
import { lateCases } from './suite-late.js';
import { recordCases } from './suite-records.js';
import { removalCases } from './suite-removals.js';
import { snapshotCases } from './suite-snapshots.js';
import { updateCases } from './suite-updates.js';

export type { StoreFactory, StoreHarness } from './suite-fixtures.js';

/** Registers the acceptance tests of one implementation. */
export function runVersionStoreSuite(name: string, factory: StoreFactory): void {
  describe(`VersionStore: ${name}`, () => {
    const on = eachWithStore(factory);

    describe('versions', () => {
      it('a read returns the freshest version at or below the snapshot', async () => {
        await on.store.commit([put('a', v(10)), put('a', v(20)), put('a', v(30))]);
        expect(on.store.read(P, 'a', 9)).toBeUndefined();
        expect(on.store.read(P, 'a', 10)).toEqual(v(10));
        expect(on.store.read(P, 'a', 29)).toEqual(v(20));
        expect(on.store.read(P, 'a', FOREVER)).toEqual(v(30));
      });

      it('a read returns nothing for a key that was never written', () => {
        expect(on.store.read(P, 'missing', FOREVER)).toBeUndefined();
        expect(on.store.read(P, 'missing', FOREVER)).toBeUndefined();
      });

      it('a read shows a version before its commit is durable, also of a key that was read as absent', async () => {
        expect(on.store.read(P, 'a', FOREVER)).toBeUndefined();
        const done = on.store.commit([put('a', v(10)), put('b', v(11))]);
        expect(on.store.read(P, 'a', FOREVER)).toEqual(v(10));
        expect(on.store.read(P, 'b', FOREVER)).toEqual(v(11));
        await done;
        expect(on.store.read(P, 'a', FOREVER)).toEqual(v(10));
      });

      it('a read merges staged versions with those on disk', async () => {
        await on.store.commit([put('a', v(10)), put('a', v(30))]);
        await on.reopen();
        const done = on.store.commit([put('a', v(20))]);
        expect([10, 20, 29, 30].map((ts) => on.store.read(P, 'a', ts)?.ts)).toEqual([10, 20, 20, 30]);
        await done;
        expect([10, 20, 29, 30].map((ts) => on.store.read(P, 'a', ts)?.ts)).toEqual([10, 20, 20, 30]);
      });

      it('a read orders versions of one timestamp by transaction id, then region', async () => {
        const ties = [v(10, '1', 'b', 'z'), v(10, '2', 'c', 'a'), v(10, '3', 'c', 'b'), v(10, '4', 'a', 'z')];
        await on.store.commit(ties.map((version) => put('a', version)));
        expect(on.store.read(P, 'a', 10)?.value).toBe('3');
        await on.reopen();
        expect(on.store.read(P, 'a', 10)?.value).toBe('3');
      });

      it('a read does not depend on the order in which versions arrived', async () => {
        for (const ts of [30, 10, 20]) await on.store.commit([put('a', v(ts))]);
        expect([10, 20, 30].map((ts) => on.store.read(P, 'a', ts)?.ts)).toEqual([10, 20, 30]);
      });

      it('a store keeps the first of two versions with the same timestamp, transaction and region', async () => {
        await on.store.commit([put('a', v(10, '"first"'))]);
        await on.store.commit([put('a', v(10, '"second"')), put('a', v(10, '"third"'))]);
        expect(on.store.read(P, 'a', 10)?.value).toBe('"first"');
        expect(on.store.stats().partitions.get(P)).toEqual({ keys: 1, versions: 1 });
      });

      it('a read returns a tombstone as a version without value', async () => {
        await on.store.commit([put('a', v(10)), put('a', v(20, null))]);
        expect(on.store.read(P, 'a', 15)).toEqual(v(10));
        expect(on.store.read(P, 'a', 20)).toEqual(v(20, null));
      });

      it('a store keeps bytes as bytes and text as text, of any size', async () => {
        const large = `"${'é😀'.repeat(100_000)}"`;
        await on.store.commit([
          put('bytes', v(1, new Uint8Array([0, 255, 7]))),
          put('text', v(2, large)),
          put('empty', v(3, '')),
        ]);
        for (const round of ['open', 'reopened']) {
          const bytes = on.store.read(P, 'bytes', 9)?.value;
          expect(bytes).toBeInstanceOf(Uint8Array);
          expect([round, ...(bytes as Uint8Array)]).toEqual([round, 0, 255, 7]);
          expect(on.store.read(P, 'text', 9)?.value).toBe(large);
          expect(on.store.read(P, 'empty', 9)?.value).toBe('');
          await on.reopen();
        }
      });

      it('a stored value does not follow later changes of the frame that it was a view of', async () => {
        const frame = new Uint8Array(100_000);
        await on.store.commit([put('a', v(10, frame.subarray(10, 12)))]);
        frame.fill(9);
        expect(on.store.read(P, 'a', 10)?.value).toEqual(new Uint8Array(2));
      });

      it('a store keeps partitions apart', async () => {
        await on.store.commit([put('a', v(10), 1), put('a', v(20), 2)]);
        expect(on.store.read(1, 'a', FOREVER)?.ts).toBe(10);
        expect(on.store.read(2, 'a', FOREVER)?.ts).toBe(20);
        expect(on.store.read(0, 'a', FOREVER)).toBeUndefined();
      });

      it('a store reports keys as resident once they were prefetched', async () => {
        await on.store.commit([put('a', v(10))]);
        await on.reopen();
        await on.store.prefetch({ kind: 'keys', partition: P, keys: ['a', 'absent'] });
        expect(on.store.resident({ kind: 'keys', partition: P, keys: ['a', 'absent'] })).toBe(true);
        expect(on.store.read(P, 'a', FOREVER)).toEqual(v(10));
        expect(on.store.read(P, 'absent', FOREVER)).toBeUndefined();
      });
    });

    describe('copies (D10)', () => {
      it('a copy holds whole chains, oldest first, tombstones and long tails too, page after page', async () => {
        const long = Array.from({ length: 200 }, (_, i) => put('long', v(10 * (i + 1))));
        await on.store.commit([...long, put('gone', v(5)), put('gone', v(6, null)), put('other', v(7), P + 1)]);
        for (let i = 0; i < 30; i++) await on.store.commit([put(`k${10 + i}`, v(50 + i, `"${'x'.repeat(40_000)}"`))]);
        for (const round of ['open', 'reopened']) {
          const seen = new Map<string, number[]>();
          let pages = 0;
          for (let start: string | null = ''; start !== null; pages++) {
            const page: CopyPage = await on.copy(start);
            for (const { key, versions } of page.chains)
              seen.set(
                key,
                versions.map(({ ts }) => ts),
              );
            start = page.next;
          }
          expect([round, pages]).toEqual([round, 3]);
          expect(seen.size).toBe(32);
          expect(seen.get('long')).toEqual(long.map((_, i) => 10 * (i + 1)));
          expect(seen.get('gone')).toEqual([5, 6]);
          await on.reopen();
        }
      });

      it('a copy holds everything that was committed before its call, also for a second caller', async () => {
        await on.store.commit([put('a', v(10))]);
        const first = on.copy('');
        const late = on.store.commit([put('a', v(20)), put('b', v(21))]);
        const second = await on.copy('');
        expect(second.chains.map(({ key, versions }) => [key, versions.length])).toEqual([
          ['a', 2],
          ['b', 1],
        ]);
        expect((await first).chains[0]!.versions[0]!.ts).toBe(10);
        await late;
      });
    });

    describe('long chains', () => {
      const all = Array.from({ length: 500 }, (_, i) => 10 * (i + 1));
      /** The results of reads at these times, as one comparison: each comparison costs more than its read. */
      const timesRead = (times: readonly number[]) => times.map((ts) => on.store.read(P, 'a', ts)?.ts);

      it('a store finds every version of a long chain that grew by one at a time', async () => {
        for (const ts of all) await on.store.commit([put('a', v(ts))]);
        for (const round of [1, 2]) {
          expect([round, ...all.map((ts) => on.store.read(P, 'a', ts + 5)?.ts)]).toEqual([round, ...all]);
          expect(on.store.read(P, 'a', 9)).toBeUndefined();
          await on.reopen();
        }
      });

      it('a store finds every version of a long chain that was written at once', async () => {
        await on.store.commit(all.map((ts) => put('a', v(ts))));
        await on.reopen();
        expect(timesRead(all)).toEqual(all);
        expect(on.store.stats().partitions.get(P)).toEqual({ keys: 1, versions: 500 });
      });

      it('a store takes late versions anywhere in a long chain, staged and stored', async () => {
        await on.store.commit(all.map((ts) => put('a', v(ts))));
        await on.reopen();
        const late = [3, 7, 15, 1005, 1006, 2555, 4999, 4999, 5001, 10];
        const done = on.store.commit(late.map((ts) => put('a', v(ts))));
        const expected = [...new Set([...all, ...late])].sort((a, b) => a - b);
        expect(timesRead(expected)).toEqual(expected);
        await done;
        expect(timesRead(expected)).toEqual(expected);
        await on.reopen();
        expect(timesRead(expected)).toEqual(expected);
        expect(on.store.stats().partitions.get(P)?.versions).toBe(expected.length);
      });

      it('a store takes a long run of late versions below everything', async () => {
        await on.store.commit(all.map((ts) => put('a', v(ts + 100_000))));
        await on.reopen();
        for (let i = 0; i < all.length; i += 50)
          await on.store.commit(all.slice(i, i + 50).map((ts) => put('a', v(ts))));
        await on.reopen();
        expect(timesRead(all)).toEqual(all);
        const high = all.map((ts) => ts + 100_000);
        expect(timesRead(high)).toEqual(high);
      });

      it('a store reads large old values while the batch that displaced them is on its way', async () => {
        const large = (ts: number) => v(ts, `"${String(ts).repeat(50_000)}"`);
        await on.store.commit([put('a', large(10))]);
        const commits = [20, 30, 40].map((ts) => on.store.commit([put('a', large(ts))]));
        for (let done = false; !done; ) {
          for (const ts of [10, 20, 30, 40]) expect(on.store.read(P, 'a', ts)?.ts).toBe(ts);
          done = await Promise.race([
            Promise.all(commits).then(() => true),
            new Promise<boolean>((r) => setImmediate(r, false)),
          ]);
        }
        for (const ts of [10, 20, 30, 40]) expect(on.store.read(P, 'a', ts)?.ts).toBe(ts);
      });
    });

    describe('collect', () => {
      /** Collection is lazy: gives it enough occasions to reach all keys. */
      const settle = async (floor: Timestamp, done: () => boolean) => {
        for (let i = 0; i < 200 && !done(); i++) {
          await on.store.commit([collect(floor + i)]);
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      const versions = () => on.store.stats().partitions.get(P)?.versions ?? 0;

      it('collection keeps the newest version at or below the floor and everything above', async () => {
        await on.store.commit([10, 20, 30, 40].map((ts) => put('a', v(ts))));
        await on.store.commit([collect(25)]);
        await settle(25, () => versions() === 3);
        expect(versions()).toBe(3);
        expect([26, 30, 40].map((ts) => on.store.read(P, 'a', ts)?.ts)).toEqual([20, 30, 40]);
        await on.reopen();
        expect([25, 30, 40].map((ts) => on.store.read(P, 'a', ts)?.ts)).toEqual([20, 30, 40]);
      });

      it('a read at the floor of a collection returns the version below it', async () => {
        await on.store.commit([put('a', v(10)), put('a', v(50))]);
        await on.store.commit([collect(49)]);
        await on.store.commit([put('a', v(60))]);
        expect(on.store.read(P, 'a', 49)?.ts).toBe(10);
      });

      it('collection drops a tombstone with the versions that it hides, and the key with it', async () => {
        await on.store.commit([put('a', v(10)), put('a', v(20, null)), put('b', v(10))]);
        await on.store.commit([collect(30)]);
        await settle(30, () => versions() === 1);
        expect(on.store.stats().partitions.get(P)).toEqual({ keys: 1, versions: 1 });
        expect(on.store.read(P, 'a', 100)).toBeUndefined();
        await on.reopen();
        expect(on.store.read(P, 'a', 100)).toBeUndefined();
        expect(keysOf(await on.list(range()))).toEqual(['b']);
      });

      it('collection never lets a deleted value show again', async () => {
        await on.store.commit([...Array(40).keys()].map((i) => put('a', v(10 + i))));
        await on.store.commit([put('a', v(100, null))]);
        for (let floor = 20; floor < 140; floor += 10) {
          await on.store.commit([collect(floor)]);
          expect(on.store.read(P, 'a', 200)?.value ?? null).toBeNull();
          await on.reopen();
          expect(on.store.read(P, 'a', 200)?.value ?? null).toBeNull();
        }
      });

      it('collection keeps a tombstone above the floor', async () => {
        await on.store.commit([put('a', v(10)), put('a', v(20, null))]);
        await settle(15, () => false);
        expect(on.store.read(P, 'a', 1000)?.value ?? null).toBeNull();
      });

      it('collection prunes a chain that is written again', async () => {
        await on.store.commit([put('a', v(10)), put('a', v(20)), collect(25)]);
        await on.store.commit([put('a', v(30))]);
        expect(versions()).toBe(2);
      });

      it('collection reaches long chains, and keys from before a restart', async () => {
        const keys = [...Array(300).keys()].map((i) => `k${i}`);
        await on.store.commit(keys.flatMap((key) => [put(key, v(10)), put(key, v(20))]));
        await on.store.commit([...Array(300).keys()].map((i) => put('long', v(10 + i))));
        await on.reopen();
        await settle(1000, () => versions() === 301);
        expect(on.store.stats().partitions.get(P)).toEqual({ keys: 301, versions: 301 });
        expect(on.store.read(P, 'long', 2000)?.ts).toBe(309);
        await on.reopen();
        expect(on.store.read(P, 'k299', 2000)?.ts).toBe(20);
        expect(on.store.read(P, 'long', 2000)?.ts).toBe(309);
      });

      it('collection keeps the floor over a restart and never lowers it', async () => {
        await on.store.commit([collect(50)]);
        await on.store.commit([collect(40)]);
        await on.reopen();
        expect((await on.store.recover()).meta.get(`gcFloor/${P}`)).toBe(50);
      });

      it('a store takes an old version of a key that has none, for a refill', async () => {
        await on.store.commit([collect(50)]);
        await on.store.commit([put('a', v(10))]);
        expect(on.store.read(P, 'a', 50)?.ts).toBe(10);
      });
    });

    describe('list', () => {
      it('a listing has the keys with a value in the snapshot, in order, without tombstones', async () => {
        await on.store.commit([
          put('c', v(10)),
          put('a', v(10)),
          put('b', v(10)),
          put('b', v(20, null)),
          put('d', v(30)),
        ]);
        expect(keysOf(await on.list(range(), 10))).toEqual(['a', 'b', 'c']);
        expect(keysOf(await on.list(range(), 25))).toEqual(['a', 'c']);
        expect((await on.list(range(), 30)).entries[2]).toEqual({ key: 'd', version: v(30) });
      });

      it('a listing cuts pages at the limit and names the start of the next one', async () => {
        const keys = [...Array(25).keys()].map((i) => `k${String(i).padStart(2, '0')}`);
        await on.store.commit(keys.map((key) => put(key, v(10))));
        const seen: string[] = [];
        for (let next: string | null = ''; next !== null; ) {
          const page: ListPage = await on.list(range(next, null, 10));
          expect(page.entries.length).toBeLessThanOrEqual(10);
          seen.push(...keysOf(page));
          next = page.next;
        }
        expect(seen).toEqual(keys);
      });

      it('a listing begins at the start and ends before the end of the range', async () => {
        await on.store.commit(['a', 'b', 'c', 'd'].map((key) => put(key, v(10))));
        expect(await on.list(range('b', 'd'))).toEqual({
          entries: [
            { key: 'b', version: v(10) },
            { key: 'c', version: v(10) },
          ],
          next: null,
        });
      });

      it('a listing orders keys by their UTF-8 bytes', async () => {
        const ordered = ['', '\0', 'a', 'a\0', 'a/b', 'ab', 'z', 'é', '￿', '😀', '😀a'];
        await on.store.commit([...ordered].reverse().map((key) => put(key, v(10))));
        expect(keysOf(await on.list(range()))).toEqual(ordered);
        expect(keysOf(await on.list(range('￿', '😀a')))).toEqual(['￿', '😀']);
      });

      it('a listing does not run into the next partition', async () => {
        await on.store.commit([put('a', v(10), P - 1), put('b', v(10)), put('c', v(10), P + 1)]);
        expect(keysOf(await on.list(range()))).toEqual(['b']);
      });

      it('a listing sees staged versions, also between the prefetch and the use', async () => {
        await on.store.commit([put('b', v(10)), put('d', v(10))]);
        void on.store.commit([put('c', v(20))]);
        const needs = { kind: 'list', partition: P, range: range('', null, 3), snapshot: 50 } as const;
        await on.store.prefetch(needs);
        expect(on.store.resident(needs)).toBe(true);
        const late = on.store.commit([put('a', v(30)), put('d', v(30, null)), put('e', v(60))]);
        const page = on.store.list(P, needs.range, needs.snapshot);
        expect(keysOf(page)).toEqual(['a', 'b', 'c']);
        await late;
        if (page.next !== null) expect(keysOf(await on.list(range(page.next), 50))).toEqual([]);
      });

      it('a listing finds old versions of long chains', async () => {
        await on.store.commit([...Array(100).keys()].map((i) => put('a', v(10 + i))));
        await on.reopen();
        expect((await on.list(range(), 37)).entries).toEqual([{ key: 'a', version: v(37) }]);
        expect((await on.list(range(), 9)).entries).toEqual([]);
      });

      it('a listing serves the same page to two readers at once', async () => {
        await on.store.commit([put('a', v(10))]);
        const pages = await Promise.all([on.list(range()), on.list(range()), on.list(range())]);
        expect(pages.map(keysOf)).toEqual([['a'], ['a'], ['a']]);
      });

      it('a listing ends a page of large values early', async () => {
        const value = `"${'x'.repeat(1_000_000)}"`;
        await on.store.commit([...Array(12).keys()].map((i) => put(`k${i}`, v(10, value))));
        const page = await on.list(range());
        expect(page.entries.length).toBeLessThan(12);
        expect(page.next).toBe([...Array(12).keys()].map((i) => `k${i}`).sort()[page.entries.length]);
      });
    });

    snapshotCases(on);
    recordCases(on);
    changesCases(on);
    removalCases(on);
    updateCases(on);
    lateCases(on);

    it('a store agrees with a naive model on random records and reads', async () => {
      await fc.assert(
        fc.asyncProperty(storeCommands, async (commands) => {
          const own = await factory();
          try {
            await checkAgainstModel(own, commands);
          } finally {
            await own.destroy();
          }
        }),
        // Each implementation gets other programs.
        { seed: crc32(Buffer.from(name)), numRuns: 10 },
      );
    }, 300_000);
  });
}
