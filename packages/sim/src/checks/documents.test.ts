import type { KeyWrite, Version } from '@isochron/core';
import { ClientReads } from './client-reads.js';
import { appending, foldOf, listOf, writeIn } from './documents.js';
import { A, CheckBench, client, version } from './fixtures.js';
import { SnapshotReads } from './snapshot-reads.js';
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
