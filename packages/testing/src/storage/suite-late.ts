/// <reference types="jest" />
/** Acceptance tests of late writes: they yield to changes of a later time, whatever a store has collected (F9). */
import { type StoredVersion, Update } from '@isochron/core';
import fc from 'fast-check';
import { collect, FOREVER, keysOf, P, put, range, type StoreCase, v } from './suite-fixtures.js';

/** A version that is judged by an earlier time. */
const late = (ts: number, value: StoredVersion['value'], at: number): StoredVersion => ({ ...v(ts, value), at });
const append = (ts: number) => new Update(JSON.stringify([{ op: 'append', path: '', items: [ts] }]));

/** A version of a chain, as drawn. */
interface Drawn {
  readonly kind: 'put' | 'delete' | 'append';
  /** How much earlier than its timestamp a late version was committed first. */
  readonly lateBy: number | undefined;
}

const drawn = fc.record<Drawn>({
  kind: fc.constantFrom('put', 'put', 'delete', 'append'),
  lateBy: fc.option(fc.integer({ min: 1, max: 70 }), { nil: undefined }),
});

/** Versions at 100, 110, 120 and so on. */
function chainOf(all: readonly Drawn[]): StoredVersion[] {
  return all.map(({ kind, lateBy }, i) => {
    const ts = 100 + 10 * i;
    const value = kind === 'put' ? `[${ts}]` : kind === 'delete' ? null : append(ts);
    return lateBy === undefined ? v(ts, value) : late(ts, value, ts - lateBy);
  });
}

/** Registers the tests. */
export function lateCases(on: StoreCase): void {
  describe('late writes', () => {
    const value = (snapshot = FOREVER, key = 'a') => on.store.read(P, key, snapshot)?.value ?? null;
    /** Raises the floor. Collection is lazy: gives it occasions to reach all keys. */
    const collected = async (floor: number) => {
      for (let i = 0; i < 5; i++) {
        await on.store.commit([collect(floor), put('later', v(10_000_000 + i))]);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };

    it('a late put or delete has no effect on a document that was changed at a later time (F9)', async () => {
      await on.store.commit([put('a', v(10)), put('a', v(50)), put('a', late(100, '"late"', 20))]);
      await on.store.commit([put('b', v(50)), put('b', late(100, null, 20)), put('c', v(10))]);
      await on.store.commit([put('c', late(100, '"late"', 20))]);
      for (const times of [1, 2]) {
        expect([99, 100].map((at) => value(at))).toEqual(['"50"', '"50"']);
        expect([value(100, 'b'), value(100, 'c')]).toEqual(['"50"', '"late"']);
        expect(keysOf(await on.list(range(), 100))).toEqual(['a', 'b', 'c']);
        expect(keysOf(await on.list(range(), ({ ts }) => ts <= 100))).toEqual(['a', 'b', 'c']);
        if (times === 1) await on.reopen();
      }
    });

    it('a late write that was collected is still judged by its first timestamp, as the only version of its key', async () => {
      await on.store.commit([put('a', v(10)), put('a', late(100, '"late"', 40))]);
      await collected(150);
      await on.reopen();
      expect((await on.copy('')).chains[0]!.versions).toEqual([late(100, '"late"', 40)]);
      await on.store.commit([put('a', late(200, '"earlier"', 30))]);
      expect([value(199), value(200)]).toEqual(['"late"', '"late"']);
      await on.store.commit([put('a', late(210, '"later"', 50))]);
      expect(value(210)).toBe('"later"');
    });

    it('the fold that another replica has collected replaces a late write that has no effect', async () => {
      await on.store.commit([put('a', late(100, '"late"', 20))]);
      await on.store.commit([put('a', late(100, '"50"', 50))]);
      expect(value()).toBe('"50"');
      await on.store.commit([put('a', late(100, '"late"', 20))]);
      await on.reopen();
      expect(value()).toBe('"50"');
    });

    it('late writes give one document in every order of arrival, before and after every collection (F2, F3)', async () => {
      let [key, base] = [0, 0];
      const property = fc.asyncProperty(
        fc.array(drawn, { minLength: 2, maxLength: 7 }),
        fc.array(fc.nat(), { minLength: 7, maxLength: 7 }),
        fc.nat({ max: 7 }),
        async (all, places, floored) => {
          const [kept, mixed] = [`p${key++}`, `p${key++}`];
          const chain = chainOf(all).map((one) => ({
            ...one,
            ts: one.ts + base,
            ...(one.at && { at: one.at + base }),
          }));
          const arrived = [...chain].sort((x, y) => places[chain.indexOf(x)]! - places[chain.indexOf(y)]!);
          await on.store.commit(chain.map((one) => put(kept, one)));
          const wanted = chain.map(({ ts }) => value(ts, kept));
          for (const one of arrived) await on.store.commit([put(mixed, one)]);
          expect(chain.map(({ ts }) => value(ts, mixed))).toEqual(wanted);
          const floor = chain[Math.min(floored, chain.length - 1)]!.ts;
          await collected(floor);
          const visible = chain.filter(({ ts }) => ts >= floor);
          for (const name of [kept, mixed])
            expect(visible.map(({ ts }) => value(ts, name))).toEqual(wanted.slice(chain.length - visible.length));
          base += 1_000;
        },
      );
      await fc.assert(property, { numRuns: 15 });
    });
  });
}
