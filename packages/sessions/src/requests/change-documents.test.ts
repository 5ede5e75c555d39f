import { IsochronError, type QualifiedKey, Update, type Value, type Version } from '@isochron/core';
import type { ChangedTx, ChangesResp, ReadReq } from '@isochron/protocols';
import { ChangeDocuments, type DocumentedPage } from './change-documents.js';

const UPDATE = new Update('[{"op":"increment","path":"","by":1}]');
const WANTS = { values: true, before: true };

const version = (value: Value): Version => ({ ts: 1, txId: 't', region: 'p', value });

/** A port that answers each read with a text of the key and the snapshot, or as a test sets it. */
class Reads {
  readonly asked: [QualifiedKey, number][] = [];
  answer: (key: QualifiedKey, at: number) => Value | null | IsochronError = (key, at) => `"${key}@${at}"`;

  ask({ keys, at }: Pick<ReadReq, 'keys' | 'at'>, done: (result: never) => void): void {
    for (const key of keys) this.asked.push([key, at!]);
    const values = keys.map((key) => this.answer(key, at!));
    const error = values.find((value) => value instanceof IsochronError);
    const versions = values.map((value) => (value === null ? null : version(value as Value)));
    done((error ?? { type: 'ReadResp', ref: 0, snapshot: at, versions }) as never);
  }
}

let reads: Reads;
beforeEach(() => {
  reads = new Reads();
});

const tx = (ct: number, ...writes: ChangedTx['writes']): ChangedTx => ({ txId: `t${ct}`, ct, writes });

function add(transactions: ChangedTx[], wants = WANTS, limitBytes = 1_000): DocumentedPage {
  const page: ChangesResp = { type: 'ChangesResp', ref: 0, from: 1, to: 1_000_000, transactions };
  let result: DocumentedPage | IsochronError | undefined;
  new ChangeDocuments(reads, limitBytes).add(page, wants, (given) => {
    expect(result).toBeUndefined();
    result = given;
  });
  if (result instanceof IsochronError) throw result;
  return result!;
}

describe('documents of changes', () => {
  it('an update has its document at the commit timestamp, and each write the one just below it', () => {
    const { to, transactions } = add([tx(10, { key: 'k/a', value: UPDATE }, { key: 'k/b', value: null })]);
    expect(to).toBe(1_000_000);
    expect(transactions).toEqual([
      {
        txId: 't10',
        ct: 10,
        writes: [
          { key: 'k/a', value: UPDATE, after: { document: '"k/a@10"' }, before: { document: '"k/a@9"' } },
          { key: 'k/b', value: null, before: { document: '"k/b@9"' } },
        ],
      },
    ]);
  });

  it('only the documents that are asked for are read', () => {
    add([tx(10, { key: 'k/a', value: UPDATE }, { key: 'k/b', value: '1' })], { values: true, before: false });
    expect(reads.asked).toEqual([['k/a', 10]]);
    add([tx(20, { key: 'k/a', value: UPDATE })], { values: false, before: false });
    expect(reads.asked).toHaveLength(1);
  });

  it('a document whose version is not kept is marked as gone, and others are given', () => {
    reads.answer = (key, at) => (at < 10 ? new IsochronError('SNAPSHOT_TOO_OLD', 'collected') : `"${key}"`);
    const [first] = add([tx(10, { key: 'k/a', value: UPDATE })]).transactions;
    expect(first!.writes).toEqual([{ key: 'k/a', value: UPDATE, after: { document: '"k/a"' }, before: 'gone' }]);
  });

  it('of two updates of a key at one timestamp each has the document after itself, and the one before itself', () => {
    reads.answer = (key, at) => (key === 'k/n' ? (at < 10 ? '1' : '3') : '"other"');
    const write = (...keys: string[]) => keys.map((key) => ({ key, value: UPDATE }));
    const pair = (): ChangedTx[] => [
      { txId: 'a', ct: 10, writes: write('k/n', 'k/m') },
      { txId: 'b', ct: 10, writes: write('k/n') },
      { txId: 'c', ct: 12, writes: write('k/n') },
    ];
    const of = (wants: typeof WANTS) =>
      add(pair(), wants).transactions.flatMap(({ writes }) =>
        writes.filter(({ key }) => key === 'k/n').map(({ before, after }) => [before, after]),
      );
    const is = (document: string) => ({ document });
    expect(of(WANTS)).toEqual([
      [is('1'), is('2')],
      [is('2'), is('3')],
      [is('3'), is('3')],
    ]);
    expect(of({ values: true, before: false })).toEqual([
      [undefined, is('2')],
      [undefined, is('3')],
      [undefined, is('3')],
    ]);
    reads.answer = (_key, at) => (at < 10 ? new IsochronError('SNAPSHOT_TOO_OLD', 'collected') : '3');
    expect(of(WANTS).slice(0, 2)).toEqual([
      ['gone', 'gone'],
      ['gone', 'gone'],
    ]);
  });

  it('a put between updates of one timestamp gives the document of those behind it', () => {
    reads.answer = () => new IsochronError('SNAPSHOT_TOO_OLD', 'collected');
    const { transactions } = add([
      { txId: 'a', ct: 10, writes: [{ key: 'k/n', value: '7' }] },
      { txId: 'b', ct: 10, writes: [{ key: 'k/n', value: UPDATE }] },
    ]);
    const [put, update] = transactions.map(({ writes }) => writes[0]!);
    expect([put!.before, put!.after]).toEqual(['gone', undefined]);
    expect([update!.before, update!.after]).toEqual([{ document: '7' }, { document: '8' }]);
  });

  it('absent documents are null, and another error ends the page', () => {
    reads.answer = () => null;
    expect(add([tx(10, { key: 'k/a', value: '1' })]).transactions[0]!.writes[0]!.before).toEqual({ document: null });
    reads.answer = () => new IsochronError('REPLICA_UNREACHABLE', 'no replica');
    expect(() => add([tx(10, { key: 'k/a', value: '1' }), tx(20, { key: 'k/a', value: '1' })])).toThrow('no replica');
  });

  it('a page ends with the batch whose documents reach the limit, behind a whole group', () => {
    reads.answer = () => 'x'.repeat(100);
    const all = Array.from({ length: 100 }, (_, i) => tx(10 + Math.floor(i / 5), { key: `k/${i}`, value: UPDATE }));
    const { to, transactions } = add(all);
    expect(transactions.length).toBeLessThan(40);
    expect(to).toBe(transactions.at(-1)!.ct);
    expect(transactions).toHaveLength(all.filter(({ ct }) => ct <= to).length);
  });

  it('documents of one transaction that are too large for a page are marked as gone', () => {
    reads.answer = () => 'x'.repeat(2_000);
    expect(add([tx(10, { key: 'k/a', value: UPDATE })]).transactions[0]!.writes[0]).toMatchObject({
      after: 'gone',
      before: 'gone',
    });
  });
});
