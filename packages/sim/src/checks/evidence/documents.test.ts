import type { KeyWrite, Version } from '@isochron/core';
import { MemoryState } from '@isochron/storage';
import { ClientReads } from '../causality/client-reads.js';
import { SnapshotReads } from '../causality/snapshot-reads.js';
import { A, CheckBench, client, version } from '../fixtures.js';
import { appending, foldOf, listOf, writeIn } from './documents.js';
import type { OwnWrite } from './observations.js';
import { UP_TO_A_TIMESTAMP } from './visibility.js';

/** A put and two updates, which name themselves. */
const HISTORY: readonly (readonly [string, number, KeyWrite['value']])[] = [
  ['t1', 5, listOf('a')],
  ['t2', 6, appending('b')],
  ['t3', 7, appending('c')],
];

function committed(): CheckBench {
  const bench = new CheckBench();
  for (const [txId, ct, value] of HISTORY) bench.commit(txId, ct, [{ key: A, value }]);
  return bench;
}

describe('documents that updates change', () => {
  it('a document names the writes that it contains, and its last text the newest of them', () => {
    const versions = HISTORY.map(([txId, ts, value]) => ({ ts, txId, region: 'p', value }));
    expect(foldOf(versions)?.value).toBe('["a","b","c"]');
    expect([listOf('a'), appending('b'), '["a","b"]', '"x"', null].map(writeIn)).toEqual([
      '"a"',
      '"b"',
      '"b"',
      '"x"',
      null,
    ]);
  });

  it('an answer that is not the fold of the committed history in the order of versions is found', () => {
    const { context, ledger, failed } = committed();
    const check = new SnapshotReads(context, ledger, UP_TO_A_TIMESTAMP);
    const answered = (value: string): Version => ({ ts: 7, txId: 't3', region: 'p', value });
    check.slice('p-1', 0, { ts: 7 }, [A], [answered('["a","b","c"]')]);
    expect(failed).toEqual([]);
    for (const wrong of ['["a","c","b"]', '["a","c"]', '["a","b","b","c"]', '["b","c"]'])
      check.slice('p-1', 0, { ts: 7 }, [A], [answered(wrong)]);
    expect(failed).toHaveLength(4);
  });

  it('a replica may hold the fold of an update in its place, and no other value', () => {
    const { ledger, failed } = committed();
    ledger.durable('p-1', [version('t2', 6, { key: A, value: '["a","b"]' })]);
    ledger.durable('p-1', [version('t3', 7, { key: A, value: appending('c') })]);
    expect(failed).toEqual([]);
    ledger.durable('q-1', [version('t2', 6, { key: A, value: '["a"]' })]);
    expect(failed).toHaveLength(1);
  });

  it('a session that misses an own update, or shows one twice, is found', () => {
    const { context, ledger, failed } = committed();
    const check = new ClientReads(context, ledger, UP_TO_A_TIMESTAMP);
    const own = new Map([[A, { ct: 7, txId: 't3', value: appending('c') }]]);
    const read = (ts: number, value: string) => check.read(client({ own, snapshot: { ts } }), A, value);
    read(6, '["a","b","c"]');
    read(7, '["a","b","c"]');
    expect(failed).toEqual([]);
    read(6, '["a","b"]');
    read(7, '["a","b","c","c"]');
    expect(failed).toHaveLength(2);
  });
});

/** More lost updates than anyone can try out one by one. */
const LOST = Array.from({ length: 30 }, (_, i) => ({ txId: `lost${i}`, ct: 10 + i, text: `l${i}` }));

/** A put that is everywhere, updates that a lost disk alone had, and an update after them. */
function lost(between: readonly (readonly [string, number, KeyWrite['value']])[] = []): CheckBench {
  const bench = new CheckBench();
  bench.commit('put', 5, [{ key: A, value: listOf('put') }]);
  bench.apply('q-1', 'put', 5, [{ key: A, value: listOf('put') }]);
  for (const { txId, ct, text } of LOST) bench.commit(txId, ct, [{ key: A, value: appending(text) }]);
  for (const [txId, ct, value] of between) bench.commit(txId, ct, [{ key: A, value }]);
  bench.ledger.onDataLoss('p-1', new MemoryState());
  bench.commit('after', 90, [{ key: A, value: appending('after') }]);
  return bench;
}

describe('documents of which a lost disk alone had many updates', () => {
  const all = LOST.map(({ text }) => text);
  const some = all.filter((_, i) => i % 3 === 0);

  it('a replica may answer with any of the lost updates, in their order, and with all that are not lost', () => {
    const { context, ledger, failed } = lost();
    const check = new SnapshotReads(context, ledger, UP_TO_A_TIMESTAMP);
    const answer = (texts: readonly string[]) =>
      check.slice('q-1', 0, { ts: 99 }, [A], [{ ts: 90, txId: 'after', region: 'p', value: JSON.stringify(texts) }]);
    for (const right of [[], all, some, all.slice(0, 1), all.slice(-1)]) answer(['put', ...right, 'after']);
    expect(failed).toEqual([]);
    const wrong = [
      ['after'],
      [...all, 'after'],
      ['put', ...all],
      ['put', ...some, 'l0', 'after'],
      ['put', 'after', 'l1'],
    ];
    for (const texts of [...wrong, ['put', 'l2', 'l1', 'after'], ['put', 'other', 'after']]) answer(texts);
    expect(failed).toHaveLength(7);
  });

  it('a put or a deletion among the lost writes may have replaced what was before it', () => {
    const { context, ledger, failed } = lost([
      ['gone', 50, null],
      ['begun', 51, appending('begun')],
      ['anew', 60, listOf('anew')],
    ]);
    const check = new SnapshotReads(context, ledger, UP_TO_A_TIMESTAMP);
    const answer = (texts: readonly string[]) =>
      check.slice('q-1', 0, { ts: 99 }, [A], [{ ts: 90, txId: 'after', region: 'p', value: JSON.stringify(texts) }]);
    for (const right of [['put', ...some, 'begun'], ['begun'], ['anew'], [], ['put']]) answer([...right, 'after']);
    expect(failed).toEqual([]);
    for (const wrong of [['put', 'anew'], ['begun', 'anew'], some, ['put', 'begun', 'l1']]) answer([...wrong, 'after']);
    expect(failed).toHaveLength(4);
  });

  it('a session may show any of its own lost updates, in their order, and no update twice', () => {
    const { context, ledger, failed } = lost();
    const check = new ClientReads(context, ledger, UP_TO_A_TIMESTAMP);
    const own = LOST.reduce<OwnWrite | undefined>(
      (before, { txId, ct, text }) => ({ ct, txId, value: appending(text), ...(before && { before }) }),
      undefined,
    )!;
    const read = (ts: number, texts: readonly string[]) =>
      check.read(client({ own: new Map([[A, own]]), snapshot: { ts } }), A, JSON.stringify(texts));
    for (const right of [[], all, some]) read(9, ['put', ...right]);
    for (const right of [[], all, some]) read(25, ['put', ...right]);
    expect(failed).toEqual([]);
    for (const wrong of [['put', 'l1', 'l0'], ['put', ...all, 'l29'], all, ['put', 'l3', 'l3']]) read(25, wrong);
    expect(failed).toHaveLength(4);
  });
});
