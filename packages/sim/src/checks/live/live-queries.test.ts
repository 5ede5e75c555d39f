import type { LiveDocument } from '@isochron/client/live/observer';
import { type QualifiedKey, Random } from '@isochron/core';
import type { LiveWatch } from '../evidence/observations.js';
import { A, B, CheckBench } from '../fixtures.js';
import { drawQuery, LiveQueriesAreEvaluated, resultOf } from './live-queries.js';

const documentOf = (key: string, value: string): LiveDocument => ({
  key,
  value: JSON.stringify(value),
  pending: false,
});

/** The failures of many watches, each called with two documents, and again when one has changed. */
function failuresOf(changed: readonly string[]): number {
  const bench = new CheckBench();
  const check = new LiveQueriesAreEvaluated(bench.context);
  for (let i = 0; i < 50; i++) {
    const watch: LiveWatch = { session: 's', name: `live${i}`, scopes: [{ keys: [A, B] }], own: [] };
    const documents = new Map([A, B].map((key) => [key, documentOf(key, 'c1:0')]));
    check.liveShown(watch, 5, [{ documents, changed: new Set([A, B]) }]);
    documents.set(A, documentOf(A, 'c9:9'));
    check.liveShown(watch, 6, [{ documents, changed: new Set(changed) }]);
    check.liveEnded(watch);
  }
  return bench.failed.length;
}

describe('the queries of watches', () => {
  it('a result that is kept up to date is the query of all documents (LQ1)', () => {
    expect(failuresOf([A])).toBe(0);
    expect(failuresOf([A, B])).toBe(0);
  });

  it('the check of queries reports results that miss a change (LQ1)', () => {
    expect(failuresOf([])).toBeGreaterThan(10);
  });

  it('documents without the field come last, in the reverse order, too (LQ1)', () => {
    const query = { orderBy: [{ path: '/n', direction: 'asc' as const }], reverse: true };
    const documents = ['{"n":1}', '{}', '{"n":2}'].map((value, i) => ({ key: `default/${i}`, value, pending: false }));
    expect(resultOf(query, new Map(documents.map((one) => [one.key as QualifiedKey, one as LiveDocument])))).toEqual([
      'default/2={"n":2}',
      'default/0={"n":1}',
      'default/1={}',
    ]);
  });

  it('drawn queries have conditions, orders and limits', () => {
    const random = new Random(1);
    const drawn = Array.from({ length: 50 }, () => drawQuery(random));
    for (const part of ['where', 'orderBy'] as const)
      expect(new Set(drawn.map((query) => query[part]!.length))).toEqual(new Set([0, 1, 2]));
    expect(new Set(drawn.map(({ limit }) => limit === undefined))).toEqual(new Set([true, false]));
  });
});
