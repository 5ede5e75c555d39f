import type { Content, Version } from '@isochron/core';
import type { ChangedTx } from '@isochron/protocols';
import { appending, listOf } from '../evidence/documents.js';
import { A, B, CheckBench, reader } from '../fixtures.js';
import { FeedsMakeCopies } from './feed-copies.js';

const PLAN = reader();

const wrote = (txId: string, ct: number, key: string, value: Content): ChangedTx => ({
  txId,
  ct,
  writes: [{ key, value }],
});

const read = (ts: number, txId: string, value: string | null): Version => ({ ts, txId, region: 'p', value });

class Bench extends CheckBench {
  readonly check = new FeedsMakeCopies(this.context, this.ledger);

  constructor() {
    super();
    this.check.feedBegan(PLAN);
  }

  receives(...transactions: ChangedTx[]): void {
    this.check.feedReceived(PLAN, 'p-1', { status: 'changes', from: 0, to: 9, transactions });
  }

  compares(key: string, version: Version | null): number {
    this.check.feedCompared(PLAN, 'q-1', 9, new Map([[key, version]]));
    return this.failed.length;
  }
}

describe('the copy of a reader of the change feed', () => {
  it('a copy is what a node reads in the snapshot at its end (CF1)', () => {
    const bench = new Bench();
    bench.compares(B, null);
    bench.receives(wrote('t', 5, A, listOf('a')), wrote('u', 6, A, appending('b')), wrote('v', 7, B, '"1"'));
    expect(bench.compares(A, read(6, 'u', '["a","b"]'))).toBe(0);
    expect(bench.compares(B, read(7, 'v', '"1"'))).toBe(0);
    expect(bench.check.compared).toBe(2);
  });

  it.each([
    ['a write that the feed has left out', [wrote('t', 5, A, '"1"')], read(6, 'u', '"2"')],
    ['a write that the snapshot lacks', [wrote('t', 5, A, '"1"'), wrote('u', 6, A, null)], read(5, 't', '"1"')],
    ['an update that was applied twice', [wrote('t', 5, A, listOf('a'))], read(6, 'u', '["a","b","b"]')],
  ])('the check of copies reports %s (CF1)', (_, transactions, version) => {
    const bench = new Bench();
    bench.receives(...transactions);
    expect(bench.compares(A, version)).toBe(1);
  });

  it('the check of copies reports an update whose document is not the one after itself (CF3)', () => {
    const bench = new Bench();
    bench.compares(A, null);
    const update = (document: string): ChangedTx => ({
      txId: 'u',
      ct: 6,
      writes: [{ key: A, value: appending('b'), after: { document } } as ChangedTx['writes'][0]],
    });
    bench.receives(wrote('t', 5, A, listOf('a')), update('["a","b"]'));
    expect(bench.failed).toEqual([]);
    bench.receives(update('["a","b","b","c"]'));
    expect(bench.failed).toHaveLength(1);
  });

  it('a copy has no document of a key that was only updated until it reads it', () => {
    const bench = new Bench();
    bench.receives(wrote('t', 5, A, appending('b')));
    expect(bench.compares(A, read(5, 't', '["a","b"]'))).toBe(0);
    expect(bench.check.compared).toBe(0);
    bench.receives(wrote('u', 6, A, appending('c')));
    expect(bench.compares(A, read(6, 'u', '["a","c"]'))).toBe(1);
  });

  it('a copy begins anew with its reader', () => {
    const bench = new Bench();
    bench.receives(wrote('t', 5, A, '"1"'));
    bench.check.feedBegan(PLAN);
    expect(bench.compares(A, read(6, 'u', '"2"'))).toBe(0);
  });
});
