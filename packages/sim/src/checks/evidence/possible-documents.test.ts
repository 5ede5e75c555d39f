import { type Content, type StoredVersion, Update } from '@isochron/core';
import { MemoryState } from '@isochron/storage';
import { ClientReads } from '../causality/client-reads.js';
import { SnapshotReads } from '../causality/snapshot-reads.js';
import { A, CheckBench, client } from '../fixtures.js';
import { appending, foldOf, listOf } from './documents.js';
import type { OwnWrite } from './observations.js';
import { possibleFolds } from './possible-documents.js';
import { UP_TO_A_TIMESTAMP } from './visibility.js';

const TWENTY = Array.from({ length: 20 }, (_, i) => i);
const nameOf = (i: number) => `w${String(i).padStart(2, '0')}`;
const document = (texts: readonly number[]) => JSON.stringify(['base', ...texts.map(nameOf)]);

/** A session with twenty updates above its snapshot, each acknowledged or in doubt, over a document. */
class Session {
  readonly bench = new CheckBench();
  readonly #check = new ClientReads(this.bench.context, this.bench.ledger, UP_TO_A_TIMESTAMP);
  readonly #inDoubt: Omit<OwnWrite, 'ct'>[] = [];
  #own: OwnWrite | undefined;

  constructor(isInDoubt: (i: number) => boolean) {
    this.bench.commit('base', 5, [{ key: A, value: listOf('base') }]);
    this.bench.apply('q-1', 'base', 5, [{ key: A, value: listOf('base') }]);
    for (const i of TWENTY) this.write(nameOf(i), 11 + i, appending(nameOf(i)), isInDoubt(i));
  }

  write(txId: string, ct: number, value: Content, isInDoubt: boolean): void {
    this.bench.commit(txId, ct, [{ key: A, value }]);
    if (isInDoubt) this.#inDoubt.push({ txId, value });
    else this.#own = { ct, txId, value, ...(this.#own === undefined ? {} : { before: this.#own }) };
  }

  /** Whether a read is accepted. */
  accepts(value: string | null): boolean {
    const failures = this.bench.failed.length;
    const own = new Map(this.#own === undefined ? [] : [[A, this.#own]]);
    this.#check.read(client({ own, inDoubt: new Map([[A, this.#inDoubt]]) }), A, value);
    return this.bench.failed.length === failures;
  }
}

const isEven = (i: number) => i % 2 === 0;

describe('documents of which some writes may be there or not', () => {
  it('a session may show any of twenty own updates in doubt, without the others', () => {
    const session = new Session(() => true);
    for (const shown of [[], [0], [19], [0, 19], [3, 4, 11], TWENTY, TWENTY.filter(isEven)])
      expect([shown, session.accepts(document(shown))]).toEqual([shown, true]);
  });

  it('an own update in doubt that is shown twice, in the wrong place, or over a lost base is found', () => {
    const session = new Session(() => true);
    for (const wrong of [
      [3, 3],
      [4, 3],
      [...TWENTY, 19],
      [0, ...TWENTY],
      [0, 2, 1, 3],
    ])
      expect([wrong, session.accepts(document(wrong))]).toEqual([wrong, false]);
    expect([null, '[]', '["w00"]', '["base","other"]', '"base"'].map((value) => session.accepts(value))).toEqual(
      Array(5).fill(false),
    );
  });

  it.each([
    ['the first', (i: number) => !isEven(i)],
    ['the last', isEven],
  ])('an acknowledged update missed or doubled among ten in doubt is found (%s one is acknowledged)', (_, isOpen) => {
    const session = new Session(isOpen);
    const accepts = (texts: readonly number[]) => session.accepts(document(texts));
    const sure = TWENTY.filter((i) => !isOpen(i));
    expect([sure, TWENTY, TWENTY.filter((i) => i < 9 || sure.includes(i))].map(accepts)).toEqual([true, true, true]);
    for (const missed of sure) expect(accepts(TWENTY.filter((i) => i !== missed))).toBe(false);
    for (const twice of sure) expect(accepts(TWENTY.flatMap((i) => (i === twice ? [i, i] : [i])))).toBe(false);
    expect(accepts([...TWENTY.slice(0, 18), 19, 18])).toBe(false);
  });

  it('a delete in doubt hides everything before it and nothing after it, or is not shown', () => {
    const session = new Session(isEven);
    session.write('zz-deleted', 40, null, true);
    for (const value of [null, document(TWENTY)]) expect(session.accepts(value)).toBe(true);
    session.write('zz-later', 41, appending('later'), false);
    for (const value of ['["later"]', document(TWENTY).replace(']', ',"later"]')])
      expect([value, session.accepts(value)]).toEqual([value, true]);
    for (const value of [null, document(TWENTY), '["base","later"]', '["w19","later"]'])
      expect([value, session.accepts(value)]).toEqual([value, false]);
  });

  it('an update that begins with a put hides everything before it, whether it is shown or not', () => {
    const session = new Session(isEven);
    session.write('zz-put', 40, new Update('[{"op":"set","path":"","value":["put"]}]'), true);
    for (const value of ['["put"]', document(TWENTY)]) expect(session.accepts(value)).toBe(true);
    for (const value of ['["base","put"]', '["put","w19"]']) expect(session.accepts(value)).toBe(false);
  });

  it('a reader may see any of twenty damaged updates, each once and in its place', () => {
    const bench = new CheckBench();
    const check = new SnapshotReads(bench.context, bench.ledger, UP_TO_A_TIMESTAMP);
    const base = [{ key: A, value: listOf('base') }];
    bench.commit('base', 5, base);
    bench.apply('q-1', 'base', 5, base);
    for (const i of TWENTY) {
      const writes = [{ key: A, value: appending(nameOf(i)) }];
      bench.commit(nameOf(i), 11 + i, writes);
      if (isEven(i)) bench.apply('q-1', nameOf(i), 11 + i, writes);
    }
    bench.ledger.onDataLoss('p-1', new MemoryState());
    const accepts = (texts: readonly number[], newest = 18) => {
      const failures = bench.failed.length;
      const version = { ts: 11 + newest, txId: nameOf(newest), region: 'p', value: document(texts) };
      check.slice('p-1', 0, { ts: 11 + 18 }, [A], [version]);
      return bench.failed.length === failures;
    };
    const kept = TWENTY.filter(isEven);
    expect([kept, [0, 1, ...kept.slice(1)], TWENTY.slice(0, 19)].map((texts) => accepts(texts))).toEqual([
      true,
      true,
      true,
    ]);
    for (const missed of kept) expect(accepts(kept.filter((i) => i !== missed))).toBe(false);
    expect(
      [
        [0, 2, 1, ...kept.slice(2)],
        [0, 0, ...kept.slice(1)],
      ].map((texts) => accepts(texts)),
    ).toEqual([false, false]);
    expect(accepts(kept, 16)).toBe(false);
  });

  it('the possible documents that lead to a read one are those of all combinations', () => {
    const contents: readonly Content[] = [
      listOf('a'),
      appending('b'),
      '"text"',
      appending('c'),
      null,
      appending('d'),
      appending('e'),
    ];
    const versions: StoredVersion[] = contents.map((value, i) => ({ ts: i, txId: nameOf(i), region: 'p', value }));
    const isOpen = ({ ts }: StoredVersion) => ts !== 3;
    const all = Array.from({ length: 2 ** versions.length }, (_, chosen) =>
      foldOf(versions.filter((version, i) => !isOpen(version) || (chosen >> i) % 2 === 1)),
    );
    for (const wanted of all) {
      const found = possibleFolds(versions, isOpen, wanted!.value);
      expect(found).toContainEqual(wanted);
      for (const one of found) expect(all).toContainEqual(one);
    }
  });
});
