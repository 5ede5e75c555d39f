/// <reference types="jest" />
/** The acceptance tests of a store's other records: log, outcomes, prepared transactions and meta values. */
import type { OutcomeRecord } from '@isochron/core';
import { ended, LOGGED_KEY, logged, outcomeAt, P, prepared, put, type StoreCase, txIds, v } from './suite-fixtures.js';

/** Log, outcomes, prepared transactions, meta values and commits. */
export function recordCases(on: StoreCase): void {
  describe('log', () => {
    it('the log returns the groups after one timestamp up to another, in order, each whole', async () => {
      await on.store.commit([logged(20, 'b'), logged(10), logged(20, 'a'), logged(30, 'tx30', '"x"'), logged(40)]);
      const page = await on.log(10, 30);
      expect(page.groups.map(({ ct }) => ct)).toEqual([20, 30]);
      expect(txIds(page)).toEqual(['a', 'b', 'tx30']);
      expect(page.upTo).toBe(30);
      expect(page.groups[1]!.txs[0]).toEqual({ txId: 'tx30', writes: [{ key: LOGGED_KEY, value: '"x"' }] });
    });

    it('the log shows entries before they are durable', async () => {
      const done = on.store.commit([logged(10)]);
      expect(txIds(await on.log(0, 100))).toEqual(['tx10']);
      await done;
    });

    it('the log is there after a restart, with entries that are added later', async () => {
      await on.store.commit([logged(10), logged(20)]);
      await on.reopen();
      expect(txIds(await on.log(0, 100))).toEqual(['tx10', 'tx20']);
      await on.store.commit([logged(30), logged(15)]);
      expect(txIds(await on.log(0, 100))).toEqual(['tx10', 'tx15', 'tx20', 'tx30']);
      expect(txIds(await on.log(20, 100))).toEqual(['tx30']);
    });

    it('a page of the log has entries that came between the prefetch and the use', async () => {
      await on.store.commit([logged(10), logged(20)]);
      await on.reopen();
      await on.store.prefetch({ kind: 'log', partition: P, after: 0, upTo: 20 });
      const late = on.store.commit([logged(15)]);
      expect(txIds(on.store.log(P, 0, 20))).toEqual(['tx10', 'tx15', 'tx20']);
      await late;
    });

    it('the log replaces an entry by a later one of the same transaction, also by one that writes nothing', async () => {
      const tx = { txId: 'tx20', writes: [] };
      const empty = { kind: 'applied', partition: P, ct: 20, tx, region: 'virginia', log: 'own' } as const;
      await on.store.commit([logged(10), logged(20, 'tx20', '1'), logged(20, 'other', '1'), logged(30)]);
      const done = on.store.commit([empty]);
      for (const round of ['staged', 'durable', 'reopened']) {
        const [, group, last] = (await on.log(0, 100)).groups;
        expect([round, group?.txs.map(({ txId, writes }) => [txId, writes.length]), last?.ct]).toEqual([
          round,
          [
            ['other', 1],
            ['tx20', 0],
          ],
          30,
        ]);
        await done;
        if (round === 'durable') await on.reopen();
      }
    });

    it('the log shows the replacement of an entry that comes while a page is being read', async () => {
      await on.store.commit([...Array(50).keys()].map((i) => logged(10 + i)));
      // A little later each time, so that the commit meets every step of the prefetch.
      for (let delay = 0; delay < 30; delay++) {
        await on.reopen();
        const prefetch = on.store.prefetch({ kind: 'log', partition: P, after: 0, upTo: 40 });
        for (let i = 0; i < delay; i++) await Promise.resolve();
        const done = on.store.commit([logged(20, 'tx20', `"${delay}"`)]);
        await prefetch;
        const { txs } = on.store.log(P, 0, 40).groups.find(({ ct }) => ct === 20)!;
        expect([delay, txs]).toEqual([delay, [{ txId: 'tx20', writes: [{ key: LOGGED_KEY, value: `"${delay}"` }] }]]);
        await done;
      }
    });

    it('the log cuts long ranges into pages but never inside a group', async () => {
      const records = [...Array(2500).keys()].map((i) =>
        logged(10 + Math.floor(i / 400), `t${String(i).padStart(4, '0')}`),
      );
      await on.store.commit(records);
      for (const round of [1, 2]) {
        const seen: string[] = [];
        let pages = 0;
        for (let after = 0; after < 100; pages++) {
          const page = await on.log(after, 100);
          for (const { ct, txs } of page.groups)
            expect([round, ct, txs.length]).toEqual([round, ct, ct === 16 ? 100 : 400]);
          seen.push(...txIds(page));
          after = page.upTo;
        }
        expect(seen.length).toBe(2500);
        expect(pages).toBe(3);
        await on.reopen();
      }
    });

    it('the log cuts pages of large transactions by size', async () => {
      await on.store.commit([...Array(10).keys()].map((i) => logged(10 + i, `t${i}`, `"${'x'.repeat(400_000)}"`)));
      const page = await on.log(0, 100);
      expect(page.groups.length).toBe(3);
      expect(page.upTo).toBe(12);
    });

    it('the log drops entries at or below a truncation, for good', async () => {
      await on.store.commit([logged(10), logged(20), logged(30)]);
      await on.store.commit([{ kind: 'horizon', partition: P, horizon: 'logTruncatedUpTo', upTo: 20 }]);
      expect(txIds(await on.log(0, 100))).toEqual(['tx30']);
      await on.reopen();
      expect(txIds(await on.log(0, 100))).toEqual(['tx30']);
      await on.store.commit([{ kind: 'horizon', partition: P, horizon: 'logTruncatedUpTo', upTo: 5 }]);
      expect(txIds(await on.log(0, 100))).toEqual(['tx30']);
    });

    it('the logs of partitions are kept apart', async () => {
      await on.store.commit([logged(10, 'a', '"x"', 1), logged(10, 'b', '"x"', 2)]);
      await on.reopen();
      expect(txIds(await on.log(0, 100, 1))).toEqual(['a']);
      expect(txIds(await on.log(0, 100, 2))).toEqual(['b']);
      expect(await on.log(0, 100, 0)).toEqual({ groups: [], upTo: 100 });
    });
  });

  describe('outcomes, prepared transactions and meta values', () => {
    it('a store returns the outcome of a transaction, at once and after a restart', async () => {
      const tombstone: OutcomeRecord = { status: 'aborted', ts: 20, attempt: 1, digest: null };
      const done = on.store.commit([ended('t1', outcomeAt(10)), ended('t2', tombstone)]);
      expect(on.store.outcome(P, 't1')).toEqual(outcomeAt(10));
      await done;
      await on.reopen();
      expect(on.store.outcome(P, 't1')).toEqual(outcomeAt(10));
      expect(on.store.outcome(P, 't2')).toEqual(tombstone);
      expect(on.store.outcome(P, 't3')).toBeUndefined();
      expect(on.store.outcome(P + 1, 't1')).toBeUndefined();
    });

    it('a store replaces an outcome by that of a later attempt', async () => {
      await on.store.commit([ended('t1', { status: 'aborted', ts: 10, attempt: 0, digest: null })]);
      await on.store.commit([ended('t1', { ...outcomeAt(50), attempt: 1 })]);
      await on.store.commit([{ kind: 'horizon', partition: P, horizon: 'forgottenUpTo', upTo: 30 }]);
      await on.reopen();
      await on.store.commit([{ kind: 'horizon', partition: P, horizon: 'forgottenUpTo', upTo: 31 }]);
      expect(on.store.outcome(P, 't1')).toEqual({ ...outcomeAt(50), attempt: 1 });
    });

    it('a store drops outcomes below a horizon, and returns the horizon', async () => {
      await on.store.commit([10, 20, 30].map((ts) => ended(`t${ts}`, outcomeAt(ts))));
      await on.store.commit([{ kind: 'horizon', partition: P, horizon: 'forgottenUpTo', upTo: 20 }]);
      await on.store.commit([{ kind: 'horizon', partition: P, horizon: 'forgottenUpTo', upTo: 15 }]);
      for (const round of [1, 2]) {
        expect([round, on.store.outcome(P, 't10')]).toEqual([round, undefined]);
        expect(on.store.outcome(P, 't20')).toEqual(outcomeAt(20));
        expect((await on.store.recover()).meta.get(`forgottenUpTo/${P}`)).toBe(20);
        await on.reopen();
      }
    });

    it('a store recovers prepared transactions until they are removed', async () => {
      await on.store.commit([
        { kind: 'prepared', partition: P, txId: 't1', record: prepared },
        {
          kind: 'prepared',
          partition: 1,
          txId: 't2',
          record: { ...prepared, writes: [{ key: 'z', value: new Uint8Array([1]) }] },
        },
      ]);
      await on.reopen();
      const state = await on.store.recover();
      expect(state.prepared.map(({ partition, txId }) => [partition, txId])).toEqual([
        [1, 't2'],
        [P, 't1'],
      ]);
      expect(state.prepared[1]!.record).toEqual(prepared);
      expect([...(state.prepared[0]!.record.writes[0]!.value as Uint8Array)]).toEqual([1]);
      await on.store.commit([{ kind: 'prepared', partition: P, txId: 't1', record: null }]);
      await on.reopen();
      expect((await on.store.recover()).prepared.map(({ txId }) => txId)).toEqual(['t2']);
    });

    it('a store recovers meta values: timestamps, and timestamps by name', async () => {
      await on.store.commit([
        { kind: 'meta', name: 'ceiling', value: 5 },
        { kind: 'meta', name: 'vv/3', value: { virginia: 7, oregon: 2 ** 52 } },
        { kind: 'meta', name: 'ceiling', value: 9 },
      ]);
      await on.reopen();
      const { meta } = await on.store.recover();
      expect(meta.get('ceiling')).toBe(9);
      expect(meta.get('vv/3')).toEqual({ virginia: 7, oregon: 2 ** 52 });
      expect(meta.size).toBe(2);
    });
  });

  describe('commits', () => {
    it('commits become durable in the order of the calls', async () => {
      const order: number[] = [];
      const commits = [1, 2, 3, 4].map((n) =>
        on.store.commit([{ kind: 'meta', name: 'n', value: n }]).then(() => order.push(n)),
      );
      await Promise.all(commits);
      expect(order).toEqual([1, 2, 3, 4]);
      expect((await on.store.recover()).meta.get('n')).toBe(4);
    });

    it('close waits for commits, and later commits are refused', async () => {
      const commits = [...Array(20).keys()].map((i) => on.store.commit([put(`k${i}`, v(10))]));
      await on.reopen();
      await Promise.all(commits);
      for (let i = 0; i < 20; i++) expect(on.store.read(P, `k${i}`, 10)?.ts).toBe(10);
      await on.store.close();
      await expect(on.store.commit([put('a', v(10))])).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    });

    it('commits count in the statistics', async () => {
      await on.store.commit([put('a', v(10)), put('b', v(10)), put('a', v(20, null))]);
      await on.store.commit([put('c', v(10), 1)]);
      expect(on.store.stats()).toMatchObject({ commits: { batches: 2, records: 4, waiting: 0 } });
      await on.reopen();
      expect(on.store.stats().partitions).toEqual(
        new Map([
          [P, { keys: 2, versions: 3 }],
          [1, { keys: 1, versions: 1 }],
        ]),
      );
    });
  });
}
