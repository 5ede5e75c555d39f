import type { LiveDocument } from '@isochron/client/live/observer';
import type { KeyWrite } from '@isochron/core';
import { appending, listOf } from '../evidence/documents.js';
import type { LiveOwn, LiveWatch } from '../evidence/observations.js';
import { A, B, CheckBench } from '../fixtures.js';
import { LiveViewsAreSnapshots } from './live-views.js';

const both: readonly KeyWrite[] = [
  { key: A, value: listOf('t') },
  { key: B, value: '"t"' },
];

/** A session that observes A, and everything else, over `t` of 5. */
class Bench extends CheckBench {
  readonly check = new LiveViewsAreSnapshots(this.context, this.ledger);
  readonly own: LiveOwn[] = [];
  readonly watch: LiveWatch = {
    session: 's',
    name: 'live0',
    scopes: [{ keys: [A] }, { start: 'default/', end: 'default0' }],
    own: this.own,
  };
  #documents: ReadonlyMap<string, LiveDocument> = new Map();

  constructor() {
    super();
    this.check.liveAnew(this.watch);
    this.commit('t', 5, both);
  }

  writes(txId: string, ...writes: KeyWrite[]): LiveOwn {
    const own = { txId, writes, isOut: false };
    this.own.push(own);
    return own;
  }

  /** The failures so far, once documents are shown in both scopes: texts, pending ones with a star. */
  shows(snapshot: number, documents: Readonly<Record<string, string>>): readonly string[] {
    this.#documents = new Map(
      Object.entries(documents).map(([key, text]) => {
        const pending = text.endsWith('*');
        return [key, { key, value: pending ? text.slice(0, -1) : text, pending }];
      }),
    );
    const a = this.#documents.get(A);
    const inA = new Map(a === undefined ? [] : [[A, a]]);
    this.check.liveShown(this.watch, snapshot, [
      { documents: inA, changed: new Set() },
      { documents: this.#documents, changed: new Set() },
    ]);
    return this.failed;
  }

  turns(): readonly string[] {
    this.check.liveTurned(this.watch);
    return this.failed;
  }
}

describe('the views of an observer', () => {
  it('views are the fold of the history at their snapshot (LQ1)', () => {
    const bench = new Bench();
    expect(bench.shows(4, {})).toEqual([]);
    expect(bench.shows(5, { [A]: '["t"]', [B]: '"t"' })).toEqual([]);
    bench.commit('u', 8, [{ key: A, value: appending('u') }]);
    expect(bench.shows(7, { [A]: '["t"]', [B]: '"t"' })).toEqual([]);
    expect(bench.shows(8, { [A]: '["t","u"]', [B]: '"t"' })).toEqual([]);
  });

  it('an observer is not called for a later snapshot that shows what an own write showed that is out (LQ3)', () => {
    const bench = new Bench();
    const own = bench.writes('mine', { key: A, value: null });
    expect(bench.shows(5, { [B]: '"t"' })).toEqual([]);
    bench.commit('other', 8, [{ key: A, value: null }]);
    own.isOut = true;
    expect(bench.turns()).toEqual([]);
    const without = new Bench();
    const lost = without.writes('mine', { key: A, value: null });
    expect(without.shows(5, { [B]: '"t"' })).toEqual([]);
    lost.isOut = true;
    expect(without.turns()).toHaveLength(1);
  });

  it.each([
    ['half a transaction', { [A]: '["t"]' }],
    ['an older document', { [A]: '["s"]', [B]: '"t"' }],
    ['a document without a write', { [A]: '["t"]', [B]: '"t"', 'default/none': '1' }],
    ['a document of another scope', { [A]: '["t"]', [B]: '"t"', 'other/x': '1' }],
    ['a document that is pending without an own write', { [A]: '["t"]*', [B]: '"t"' }],
  ])('the check of views reports %s (LQ1)', (_, documents) => {
    expect(new Bench().shows(5, documents)).toHaveLength(1);
  });

  it('views have own writes from their call until the snapshot has them (LQ2)', () => {
    const bench = new Bench();
    bench.writes('o', { key: A, value: appending('o') });
    bench.writes('p', { key: A, value: appending('p') }, { key: B, value: null });
    expect(bench.shows(5, { [A]: '["t","o","p"]*' })).toEqual([]);
    bench.commit('o', 8, [{ key: A, value: appending('o') }]);
    expect(bench.shows(7, { [A]: '["t","o","p"]*' })).toEqual([]);
    bench.commit('u', 9, [{ key: A, value: appending('u') }]);
    expect(bench.shows(9, { [A]: '["t","o","u","p"]*' })).toEqual([]);
    bench.commit('p', 10, [
      { key: A, value: appending('p') },
      { key: B, value: null },
    ]);
    expect(bench.shows(10, { [A]: '["t","o","u","p"]' })).toEqual([]);
  });

  it.each([
    ['an own write that is missing', { [A]: '["t"]', [B]: '"t"' }],
    ['an own write that is not pending', { [A]: '["t","o"]', [B]: '"t"' }],
    ['an own write that is laid over twice', { [A]: '["t","o","o"]*', [B]: '"t"' }],
  ])('the check of views reports %s (LQ2)', (_, documents) => {
    const bench = new Bench();
    bench.writes('o', { key: A, value: appending('o') });
    expect(bench.shows(5, documents)).toHaveLength(1);
  });

  it('the check of views reports an own write that flickers when it has committed (LQ2)', () => {
    const bench = new Bench();
    bench.writes('o', { key: A, value: appending('o') });
    bench.commit('o', 8, [{ key: A, value: appending('o') }]);
    expect(bench.shows(7, { [A]: '["t"]', [B]: '"t"' })).toHaveLength(1);
  });

  it('the check of views reports an own write that does not show in its turn (LQ2)', () => {
    const bench = new Bench();
    bench.shows(5, { [A]: '["t"]', [B]: '"t"' });
    expect(bench.turns()).toEqual([]);
    bench.writes('o', { key: B, value: '"o"' });
    expect(bench.turns()).toHaveLength(1);
  });

  it('the check of views reports a refused write that stays (LQ2)', () => {
    const bench = new Bench();
    const own = bench.writes('o', { key: B, value: '"o"' });
    expect(bench.shows(5, { [A]: '["t"]', [B]: '"o"*' })).toEqual([]);
    own.isOut = true;
    expect(bench.turns()).toHaveLength(1);
  });

  it('a write that its client has given up shows once a snapshot has it', () => {
    const bench = new Bench();
    bench.writes('o', { key: B, value: '"o"' }).isOut = true;
    bench.commit('o', 8, [{ key: B, value: '"o"' }]);
    expect(bench.shows(7, { [A]: '["t"]', [B]: '"t"' })).toEqual([]);
    expect(bench.shows(8, { [A]: '["t"]', [B]: '"o"' })).toEqual([]);
  });

  it('the check of views misses an observer that does not have the last snapshot in the end (LQ3)', () => {
    const bench = new Bench();
    expect(bench.check.missing(true)).toContain('has not been called');
    expect(bench.check.missing(false)).toBeUndefined();
    bench.shows(4, {});
    expect(bench.check.missing(true)).toContain('["t"]');
    bench.shows(5, { [A]: '["t"]', [B]: '"t"' });
    expect(bench.check.missing(true)).toBeUndefined();
    bench.check.liveAnew(bench.watch);
    expect(bench.check.missing(true)).toContain('has not been called');
    bench.check.liveEnded(bench.watch);
    expect(bench.check.missing(true)).toBeUndefined();
  });
});
