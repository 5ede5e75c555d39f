/// <reference types="jest" />
/** The acceptance tests of `remove`, which takes a version out of a chain. */
import { collect, FOREVER, keysOf, P, put, range, remove, type StoreCase, v } from './suite-fixtures.js';

/** `remove` records. */
export function removalCases(on: StoreCase): void {
  describe('remove', () => {
    const size = () => on.store.stats().partitions.get(P) ?? { keys: 0, versions: 0 };
    /** Timestamps of all versions of a key, oldest first: by `find`, and the same by `read`. */
    const timesOf = (key: string): number[] => {
      const times = new Set<number>();
      on.store.find(P, key, ({ ts }) => times.add(ts) === undefined);
      const sorted = [...times].sort((a, b) => a - b);
      // One comparison of all: each costs more than its read.
      expect(sorted.map((ts) => on.store.read(P, key, ts)?.ts)).toEqual(sorted);
      expect(on.store.read(P, key, FOREVER)?.ts).toBe(sorted.at(-1));
      return sorted;
    };
    /** Checks while the commit is on its way, when it is durable, and after a restart. */
    const always = async (done: Promise<void>, check: () => void | Promise<void>) => {
      await check();
      await done;
      await check();
      await on.reopen();
      await check();
    };
    const times = (count: number) => Array.from({ length: count }, (_, i) => 10 * (i + 1));
    const without = (all: readonly number[], ...gone: number[]) => all.filter((ts) => !gone.includes(ts));

    it('remove takes one version out of a chain: the one with its timestamp and transaction', async () => {
      await on.store.commit([put('a', v(10)), put('a', v(20)), put('a', v(20, '"x"', 'other')), put('b', v(20))]);
      await always(on.store.commit([remove('a', 20)]), () => {
        expect(on.store.read(P, 'a', 20)).toEqual(v(20, '"x"', 'other'));
        expect(on.store.read(P, 'a', 19)).toEqual(v(10));
        expect(on.store.read(P, 'b', 20)).toEqual(v(20));
      });
      expect(size()).toEqual({ keys: 2, versions: 3 });
    });

    it('remove makes no difference between regions', async () => {
      await on.store.commit([put('a', v(10, '1', 'tx', 'oregon')), put('a', v(20, '2', 'tx2', 'ireland'))]);
      await always(on.store.commit([remove('a', 20, 'tx2')]), () => expect(timesOf('a')).toEqual([10]));
      expect(size()).toEqual({ keys: 1, versions: 1 });
    });

    it('remove changes nothing where the version is not there', async () => {
      const all = times(100);
      await on.store.commit([...all.map((ts) => put('long', v(ts))), put('a', v(10)), put('a', v(10), P + 1)]);
      const wrong = [
        remove('absent', 10),
        remove('a', 11),
        remove('a', 10, 'another'),
        remove('long', 11),
        remove('long', 1000, 'another'),
        remove('long', 10, 'another'),
      ];
      await always(on.store.commit(wrong), () => {
        expect(timesOf('a')).toEqual([10]);
        expect(timesOf('long')).toEqual(all);
        expect(on.store.read(P, 'absent', FOREVER)).toBeUndefined();
        expect(size()).toEqual({ keys: 2, versions: 101 });
      });
    });

    it('remove takes back a version that the same batch, or one that is not durable yet, has put in', async () => {
      const commits = [
        on.store.commit([put('a', v(10)), put('b', v(10)), remove('b', 10)]),
        on.store.commit([remove('a', 10), put('a', v(20))]),
      ];
      await always(
        Promise.all(commits).then(() => {}),
        () => {
          expect(timesOf('a')).toEqual([20]);
          expect(on.store.read(P, 'b', FOREVER)).toBeUndefined();
        },
      );
      expect(size()).toEqual({ keys: 1, versions: 1 });
    });

    it('remove leaves a version that is put in again after it', async () => {
      await on.store.commit([put('a', v(10, '"first"')), put('b', v(10))]);
      const commits = [
        on.store.commit([remove('a', 10), put('a', v(10, '"second"')), remove('b', 10)]),
        on.store.commit([put('b', v(10, '"again"'))]),
      ];
      await always(
        Promise.all(commits).then(() => {}),
        () => {
          expect(on.store.read(P, 'a', 10)?.value).toBe('"second"');
          expect(on.store.read(P, 'b', 10)?.value).toBe('"again"');
        },
      );
      expect(size()).toEqual({ keys: 2, versions: 2 });
    });

    it('remove takes versions out of the head and out of any segment of a long chain', async () => {
      const all = times(200);
      await on.store.commit(all.map((ts) => put('a', v(ts))));
      const gone: number[] = [];
      for (const ts of [10, 2000, 1000, 160, 170, 1990, 20]) {
        await on.reopen();
        gone.push(ts);
        await always(on.store.commit([remove('a', ts)]), () => expect(timesOf('a')).toEqual(without(all, ...gone)));
        expect(size()).toEqual({ keys: 1, versions: all.length - gone.length });
      }
    });

    it('remove goes with late and new versions of a long chain in one batch, in their order', async () => {
      const all = times(200);
      await on.store.commit(all.map((ts) => put('a', v(ts))));
      await on.reopen();
      const done = on.store.commit([
        put('a', v(15)),
        put('a', v(2500)),
        remove('a', 15),
        remove('a', 1000),
        put('a', v(15, '"again"')),
        put('a', v(1005)),
        remove('a', 2500),
        put('a', v(2600)),
      ]);
      const left = [...without(all, 1000), 15, 1005, 2600].sort((a, b) => a - b);
      await always(done, () => {
        expect(timesOf('a')).toEqual(left);
        expect(on.store.read(P, 'a', 15)?.value).toBe('"again"');
      });
      expect(size()).toEqual({ keys: 1, versions: left.length });
    });

    it('remove leaves a chain that grows, shrinks and is collected as before', async () => {
      const all = times(100);
      await on.store.commit(all.map((ts) => put('a', v(ts))));
      await on.store.commit([remove('a', 500), remove('a', 1000)]);
      const more = Array.from({ length: 100 }, (_, i) => 2000 + i);
      for (const ts of more) await on.store.commit([put('a', v(ts))]);
      await on.store.commit([remove('a', 2099), remove('a', 990), put('a', v(5))]);
      const left = [5, ...without(all, 500, 990, 1000), ...without(more, 2099)];
      expect(timesOf('a')).toEqual(left);
      for (let i = 0; i < 200 && size().versions > 50; i++) {
        await on.store.commit([collect(2048 + (i % 2))]);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await on.reopen();
      expect(timesOf('a').filter((ts) => ts > 2049)).toEqual(left.filter((ts) => ts > 2049));
      expect(on.store.read(P, 'a', 2049)?.ts).toBe(2049);
    });

    it.each([
      ['text', [v(10)]],
      ['bytes', [v(10, new Uint8Array([1, 2]))]],
      ['a tombstone', [v(10, null)]],
      ['two versions and a tombstone', [v(10), v(20), v(30, null)]],
      ['a long chain', times(60).map((ts) => v(ts))],
    ])('remove takes the key away with its last version: %s', async (_, versions) => {
      await on.store.commit([...versions.map((version) => put('a', version)), put('b', v(10))]);
      await on.reopen();
      const done = on.store.commit(versions.map(({ ts }) => remove('a', ts)));
      await always(done, async () => {
        expect(on.store.read(P, 'a', FOREVER)).toBeUndefined();
        expect(on.store.find(P, 'a', () => true)).toBeUndefined();
        expect(keysOf(await on.list(range()))).toEqual(['b']);
      });
      expect(size()).toEqual({ keys: 1, versions: 1 });
      expect((await on.copy('')).chains.map(({ key }) => key)).toEqual(['b']);
      await always(on.store.commit([put('a', v(40))]), () => expect(timesOf('a')).toEqual([40]));
      expect(size()).toEqual({ keys: 2, versions: 2 });
    });

    it('remove shows the version that a removed tombstone hid', async () => {
      await on.store.commit([put('a', v(10)), put('a', v(20, null))]);
      await always(on.store.commit([remove('a', 20)]), async () => {
        expect(on.store.read(P, 'a', FOREVER)).toEqual(v(10));
        expect(keysOf(await on.list(range()))).toEqual(['a']);
      });
    });

    it('remove takes effect in a listing that was prefetched before it', async () => {
      await on.store.commit([
        put('a', v(10)),
        put('b', v(10)),
        put('b', v(20)),
        put('c', v(10)),
        put('c', v(20, null)),
      ]);
      for (const snapshot of [50, 'any'] as const) {
        await on.store.prefetch({ kind: 'list', partition: P, range: range(), snapshot });
      }
      const done = on.store.commit([remove('a', 10), remove('b', 20), remove('c', 20)]);
      const left = [
        { key: 'b', version: v(10) },
        { key: 'c', version: v(10) },
      ];
      expect(on.store.list(P, range(), 50).entries).toEqual(left);
      expect(on.store.list(P, range(), ({ ts }) => ts < 50).entries).toEqual(left);
      await done;
      expect((await on.list(range(), 50)).entries).toEqual(left);
    });

    it('remove takes effect in a listing that is being read meanwhile', async () => {
      for (let delay = 0; delay < 30; delay++) {
        await on.store.commit([put('a', v(10)), put('b', v(10)), put('b', v(20))]);
        const lists = [range('', null, 10 + delay), range('a', null, 10 + delay)];
        const prefetches = [
          on.store.prefetch({ kind: 'list', partition: P, range: lists[0]!, snapshot: 50 }),
          on.store.prefetch({ kind: 'list', partition: P, range: lists[1]!, snapshot: 'any' }),
        ];
        for (let i = 0; i < delay; i++) await Promise.resolve();
        const done = on.store.commit([remove('a', 10), remove('b', 20)]);
        await Promise.all(prefetches);
        const left = [{ key: 'b', version: v(10) }];
        expect([delay, on.store.list(P, lists[0]!, 50).entries]).toEqual([delay, left]);
        expect([delay, on.store.list(P, lists[1]!, () => true).entries]).toEqual([delay, left]);
        await done;
      }
    });

    it('every copy that begins after a durable remove includes it', async () => {
      const all = times(100);
      await on.store.commit([...all.map((ts) => put('a', v(ts))), put('b', v(10))]);
      await on.store.prefetch({ kind: 'copy', partition: P, start: '' });
      await on.store.commit([remove('a', 500), remove('b', 10)]);
      const { chains } = await on.copy('');
      expect(chains.map(({ key, versions }) => [key, versions.map(({ ts }) => ts)])).toEqual([
        ['a', without(all, 500)],
      ]);
    });

    it('chains that are being brought to memory have all of a remove or nothing of it', async () => {
      let all = times(180);
      await on.store.commit(all.map((ts) => put('a', v(ts))));
      for (let delay = -20; delay < 20; delay++) {
        await on.reopen();
        await on.store.prefetch({ kind: 'keys', partition: P, keys: ['a'] });
        const gone = [1200 + 10 * delay, 500 + 10 * delay];
        all = without(all, ...gone);
        const commit = () => on.store.commit(gone.map((ts) => remove('a', ts)));
        const prefetch = () => on.store.prefetch({ kind: 'chains', partition: P, keys: ['a'] });
        const first = delay < 0 ? commit() : prefetch();
        for (let i = 0; i < Math.abs(delay); i++) await Promise.resolve();
        const second = delay < 0 ? prefetch() : commit();
        expect([delay, timesOf('a')]).toEqual([delay, all]);
        await Promise.all([first, second]);
        expect([delay, timesOf('a')]).toEqual([delay, all]);
      }
      expect(size()).toEqual({ keys: 1, versions: all.length });
    });
  });
}
