/// <reference types="jest" />
/** Acceptance tests of updates: what reads, collection, removals and copies make of them (F1 to F4). */
import { type StoredVersion, Update } from '@isochron/core';
import { collect, FOREVER, keysOf, P, put, range, remove, type StoreCase, v } from './suite-fixtures.js';

const updated = (ts: number, operation: object, txId?: string): StoredVersion =>
  v(ts, new Update(JSON.stringify([operation])), txId);
/** Appends its own timestamp: the document shows which updates were folded, and in which order. */
const append = (ts: number, txId?: string): StoredVersion => updated(ts, { op: 'append', path: '', items: [ts] }, txId);

/** Registers the tests. */
export function updateCases(on: StoreCase): void {
  describe('updates', () => {
    const value = (snapshot = FOREVER, key = 'a') => on.store.read(P, key, snapshot)?.value;
    const listed = async (snapshot: number) => keysOf(await on.list(range(), snapshot));
    const chain = async (key: string) => (await on.copy('')).chains.find((one) => one.key === key)?.versions;
    /** Raises the floor. Collection is lazy: gives it occasions to reach all keys. */
    const collected = async (floor: number) => {
      for (let i = 0; i < 40; i++) {
        await on.store.commit([collect(floor), put('later', v(10_000_000 + i))]);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };

    it('a read folds the updates of the snapshot over the newest put below them (F1)', async () => {
      await on.store.commit([put('a', v(10, '[1]')), put('a', append(20)), put('a', append(30)), put('b', append(5))]);
      for (let times = 0; times < 3; times++) {
        expect([9, 10, 20, 29, 30].map((at) => value(at))).toEqual([undefined, '[1]', '[1,20]', '[1,20]', '[1,20,30]']);
        expect(value(FOREVER, 'b')).toBe('[5]');
        await on.reopen();
      }
    });

    it('a read names the newest version of the snapshot, and the one that made the document', async () => {
      await on.store.commit([put('a', v(10, '[1]')), put('a', append(20))]);
      expect(on.store.read(P, 'a', 20)).toMatchObject({ ts: 20, txId: 'tx20', origin: { ts: 10, txId: 'tx10' } });
      expect(on.store.read(P, 'a', 10)).toEqual(v(10, '[1]'));
    });

    it('the result does not depend on the order in which updates arrive (F2)', async () => {
      const versions = [v(10, '[]'), append(20, 'a'), append(20, 'b'), append(30), append(40)];
      const orders = [versions, [...versions].reverse(), [2, 4, 0, 3, 1].map((i) => versions[i]!)];
      for (const [i, order] of orders.entries()) {
        for (const version of order) {
          await on.store.commit([put(`k${i}`, version)]);
          on.store.read(P, `k${i}`, FOREVER);
        }
        expect([20, 30, FOREVER].map((at) => value(at, `k${i}`))).toEqual(['[20,20]', '[20,20,30]', '[20,20,30,40]']);
      }
    });

    it('an update is folded once, however often it arrives (F4)', async () => {
      await on.store.commit([put('a', append(10)), put('a', append(20)), put('a', append(10))]);
      expect(value()).toBe('[10,20]');
      for (const repeated of [[20], [10, 20], [20, 20]]) {
        const done = on.store.commit(repeated.map((ts) => put('a', append(ts))));
        expect(value()).toBe('[10,20]');
        await done;
        expect(value()).toBe('[10,20]');
      }
    });

    it('reads show updates before their commit is durable, also those that lie below others', async () => {
      await on.store.commit([put('a', v(10, '[1]')), put('a', append(30))]);
      expect(value()).toBe('[1,30]');
      const done = on.store.commit([put('a', append(20)), put('a', append(40))]);
      expect([25, 35, FOREVER].map((at) => value(at))).toEqual(['[1,20]', '[1,20,30]', '[1,20,30,40]']);
      await done;
      expect([25, 35, FOREVER].map((at) => value(at))).toEqual(['[1,20]', '[1,20,30]', '[1,20,30,40]']);
    });

    it('an update takes its effect back when it is removed (D10)', async () => {
      await on.store.commit([put('a', v(10, '[1]')), ...[20, 30, 40].map((ts) => put('a', append(ts)))]);
      expect(value()).toBe('[1,20,30,40]');
      const done = on.store.commit([remove('a', 30)]);
      expect(value()).toBe('[1,20,40]');
      await done;
      expect(value()).toBe('[1,20,40]');
      await on.reopen();
      expect(value()).toBe('[1,20,40]');
    });

    it('collection folds everything below the floor into one put with the identity of the newest (F3)', async () => {
      const many = Array.from({ length: 300 }, (_, i) => append(10 + i));
      await on.store.commit(many.map((version) => put('a', version)));
      const before = value(250);
      await collected(250);
      expect(value(250)).toBe(before);
      expect(value()).toBe(JSON.stringify(many.map(({ ts }) => ts)));
      await on.reopen();
      expect(value()).toBe(JSON.stringify(many.map(({ ts }) => ts)));
      const [oldest, ...others] = (await chain('a')) ?? [];
      expect(oldest?.value).toBe(JSON.stringify(many.map(({ ts }) => ts).filter((ts) => ts <= oldest!.ts)));
      expect(others.length).toBeLessThan(120);
    });

    it('a document begins anew after a deletion that was collected, also where older folds were kept', async () => {
      await on.store.commit([put('a', append(10)), put('a', append(20))]);
      expect(value(20)).toBe('[10,20]');
      await on.store.commit([put('a', v(30, null)), put('a', append(40))]);
      await collected(35);
      expect(value()).toBe('[40]');
    });

    it('the snapshot of the floor still shows which version made the document (F7)', async () => {
      const claim = (ts: number) => updated(ts, { op: 'init', value: ts });
      await on.store.commit([put('a', claim(10)), put('a', claim(20)), put('b', claim(20))]);
      await collected(20);
      expect(on.store.read(P, 'a', 20)).toMatchObject({ ts: 20, value: '10', origin: { ts: 10, txId: 'tx10' } });
      expect(on.store.read(P, 'b', 20)).toEqual({ ...claim(20), value: '20' });
    });

    it('the fold that another replica has collected replaces the updates that it holds', async () => {
      await on.store.commit([put('a', append(20)), put('a', append(30))]);
      expect(value()).toBe('[20,30]');
      await on.store.commit([put('a', v(20, '[10,20]'))]);
      expect(value()).toBe('[10,20,30]');
      await on.store.commit([put('a', append(20))]);
      await on.reopen();
      expect(value()).toBe('[10,20,30]');
    });

    it('a listing shows folded documents, and no key whose fold is absent', async () => {
      const gone = updated(20, { op: 'remove', path: '' });
      await on.store.commit([put('a', append(10)), put('b', v(10)), put('b', gone), put('c', v(10, '[]'))]);
      await on.store.commit([put('c', append(20))]);
      expect(await listed(10)).toEqual(['a', 'b', 'c']);
      expect(await listed(20)).toEqual(['a', 'c']);
      await on.reopen();
      expect(await listed(20)).toEqual(['a', 'c']);
    });

    it('a copy carries updates as they are, with everything that their fold needs', async () => {
      await on.store.commit([put('a', v(10, '[1]')), put('a', append(20))]);
      expect(await chain('a')).toEqual([v(10, '[1]'), append(20)]);
    });
  });
}
