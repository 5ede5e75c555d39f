/// <reference types="jest" />
/** The acceptance tests of the log with the transactions of all regions. */
import type { ChangesPage } from '@isochron/core';
import { applied, LOGGED_KEY, logged, P, prepared, received, type StoreCase, txIds } from './suite-fixtures.js';

const named = ({ changes }: ChangesPage): string[] =>
  changes.map(({ ct, tx, source = 'own' }) => `${ct} ${tx.txId} ${source}`);

/** Entries of other regions, and how long the log keeps its entries. */
export function changesCases(on: StoreCase): void {
  describe('changes', () => {
    it('the log gives readers of changes the transactions of all regions in order, and its owner its own', async () => {
      await on.store.commit([received(20, 'b'), logged(20, 'a'), logged(10), received(5), received(30, 'tx30', '"x"')]);
      for (const round of ['at once', 'reopened']) {
        const page = await on.changes(5, 30);
        expect([round, named(page)]).toEqual([round, ['10 tx10 own', '20 a own', '20 b oregon', '30 tx30 oregon']]);
        expect(page).toMatchObject({ upTo: 30, truncatedUpTo: 0 });
        expect(page.changes[3]!.tx).toEqual({ txId: 'tx30', writes: [{ key: LOGGED_KEY, value: '"x"' }] });
        expect(txIds(await on.log(0, 30))).toEqual(['tx10', 'a']);
        expect((await on.store.recover()).logEnds.get(P)).toBe(20);
        await on.reopen();
      }
    });

    it('the log keeps confirmed entries for readers of changes alone', async () => {
      await on.store.commit([logged(10), received(15), logged(20), { kind: 'meta', name: 'ust', value: 17 }]);
      await on.store.commit([{ kind: 'horizon', partition: P, horizon: 'logConfirmedUpTo', upTo: 10 }]);
      for (const round of ['at once', 'reopened', 'reopened with a block']) {
        expect([round, txIds(await on.log(0, 100))]).toEqual([round, ['tx20']]);
        expect(named(await on.changes(0, 100))).toEqual(['10 tx10 own', '15 tx15 oregon', '20 tx20 own']);
        const { meta, logEnds } = await on.store.recover();
        expect([meta.get(`logConfirmedUpTo/${P}`), logEnds.get(P)]).toEqual([10, 20]);
        await on.reopen();
      }
    });

    it('the log drops entries of all regions at or below a truncation, for good', async () => {
      await on.store.commit([logged(10), received(15), { kind: 'meta', name: 'ust', value: 18 }]);
      await on.reopen();
      await on.store.commit([
        received(20),
        logged(30),
        { kind: 'horizon', partition: P, horizon: 'logTruncatedUpTo', upTo: 15 },
      ]);
      for (const round of ['at once', 'reopened']) {
        const page = await on.changes(0, 100);
        expect([round, named(page), page.truncatedUpTo]).toEqual([round, ['20 tx20 oregon', '30 tx30 own'], 15]);
        expect(await on.changes(16, 100)).toMatchObject({ truncatedUpTo: 15 });
        await on.reopen();
      }
    });

    it('the log drops its oldest settled entries while they take more than a limit', async () => {
      const value = `"${'x'.repeat(100_000)}"`;
      for (let ct = 10; ct < 20; ct++) {
        const entry = ct % 2 === 0 ? logged(ct, `t${ct}`, value) : received(ct, `t${ct}`, value);
        await on.store.commit([entry, { kind: 'meta', name: 'ust', value: Math.min(ct, 17) }]);
        await on.reopen();
      }
      const kept = async () => {
        const { changes, truncatedUpTo } = await on.changes(0, 100);
        const [first = 0] = changes.map(({ ct }) => ct);
        expect(changes.map(({ ct }) => ct)).toEqual([...Array(20 - first).keys()].map((i) => first + i));
        return [first, truncatedUpTo];
      };
      await on.store.commit([{ kind: 'horizon', partition: P, horizon: 'logTruncatedUpTo', upTo: 0, bytes: 450_000 }]);
      const [first = 0, truncatedUpTo] = await kept();
      expect(truncatedUpTo).toBe(first - 1);
      // A store drops whole blocks, of one or two of these.
      expect(first).toBeGreaterThanOrEqual(14);
      expect(first).toBeLessThanOrEqual(15);
      await on.reopen();
      expect(await kept()).toEqual([first, truncatedUpTo]);
      await on.store.commit([{ kind: 'horizon', partition: P, horizon: 'logTruncatedUpTo', upTo: 0, bytes: 0 }]);
      expect(await kept()).toEqual([18, 17]);
    });

    it('the log replaces an entry of another region, also after one that writes nothing was settled', async () => {
      const entries = [10, 20].map((ct) => received(ct, `tx${ct}`, '"x"'));
      await on.store.commit([...entries, { kind: 'meta', name: 'ust', value: 5 }]);
      await on.reopen();
      await on.store.commit([
        { kind: 'applied', partition: P, ct: 20, tx: { txId: 'tx20', writes: [] }, region: 'oregon', log: 'received' },
      ]);
      for (const ust of [5, 20, 30]) {
        await on.store.commit([{ kind: 'meta', name: 'ust', value: ust }]);
        for (let round = 0; round < 2; round++) {
          const { changes } = await on.changes(0, 100);
          expect([ust, changes.map(({ tx }) => tx.writes.length)]).toEqual([ust, [1, 0]]);
          await on.reopen();
        }
      }
    });

    it('a page of changes is cut by size, across blocks and entries that are not settled', async () => {
      const value = `"${'x'.repeat(60_000)}"`;
      for (let ct = 10; ct < 50; ct++) {
        await on.store.commit([ct % 3 === 0 ? logged(ct, `t${ct}`, value) : received(ct, `t${ct}`, value)]);
        if (ct % 10 === 9) {
          await on.store.commit([{ kind: 'meta', name: 'ust', value: ct - 3 }]);
          await on.reopen();
        }
      }
      const seen: number[] = [];
      let pages = 0;
      for (let after = 0; after < 100; pages++) {
        const page = await on.changes(after, 100);
        seen.push(...page.changes.map(({ ct }) => ct));
        after = page.upTo;
      }
      expect(seen).toEqual([...Array(40).keys()].map((i) => 10 + i));
      expect(pages).toBeGreaterThan(2);
    });

    it('a page of changes has entries that came between the prefetch and the use', async () => {
      await on.store.commit([received(10), logged(20)]);
      await on.reopen();
      await on.store.prefetch({ kind: 'changes', partition: P, after: 0, upTo: 20 });
      const late = on.store.commit([received(15)]);
      expect(named(on.store.changes(P, 0, 20))).toEqual(['10 tx10 oregon', '15 tx15 oregon', '20 tx20 own']);
      await late;
    });

    it('a transaction that was prepared is read with its writes as a change, once it is applied', async () => {
      await on.store.commit([{ kind: 'prepared', partition: P, txId: 't', record: prepared }]);
      expect((await on.changes(0, 100)).changes).toEqual([]);
      await on.store.commit([applied('t', 90)]);
      for (let round = 0; round < 2; round++) {
        expect((await on.changes(0, 100)).changes[0]!.tx.writes).toEqual(prepared.writes);
        expect(prepared.writes.map(({ key }) => on.store.read(P, key, 90)?.ts)).toEqual([90, 90]);
        expect(on.store.outcome(P, 't')).toEqual({ status: 'committed', ts: 90, attempt: 1, digest: 'digest' });
        expect((await on.store.recover()).prepared).toEqual([]);
        await on.reopen();
      }
    });
  });
}
