import { CheckBench } from '../fixtures.js';
import { HiddenKeys } from './hidden-keys.js';

const KEY = 'default/notes/1';
const REMARKS = { watch: 7, start: 'default/remarks/', end: 'default/remarks0' };

/** The note belongs to ann until 20, to bob from 20 on, and to cid from 30 on. */
const failuresOf = (request: object, ...answers: object[]): number => failuresWith([], request, ...answers);

/** @param later requests that follow before the answers come */
function failuresWith(later: readonly object[], request: object, ...answers: object[]): number {
  const bench = new CheckBench();
  const check = new HiddenKeys(bench.context, bench.ledger, true);
  for (const [ct, by] of Object.entries({ 10: 'ann', 20: 'bob', 30: 'cid' })) {
    const write = { key: KEY, value: JSON.stringify({ by }) };
    bench.commit(`t${ct}`, Number(ct), [write]);
  }
  // A request of before, without a scope, whose answer may end a scope of the next one.
  check.ruledAsked('bob', 's/1', JSON.stringify({ id: 0, type: 'live', after: 5 }));
  check.ruledAsked('bob', 's/1', JSON.stringify([{ id: 1, ...request }, ...later]));
  for (const answer of answers) check.ruledAnswered('bob', 's/1', JSON.stringify({ id: 1, ...answer }));
  return bench.failed.length;
}

describe('notes that a principal may not see', () => {
  const page = (snapshot: number, next: string | null = null) =>
    failuresOf(
      { type: 'list', start: '' },
      { type: 'listed', snapshot, entries: next === null ? [['notes/1', 1, '{}']] : [], next },
    );

  it('a list has the notes that are visible in its snapshot, and its next place names no other one (AR10)', () => {
    expect([page(10), page(20), page(30)]).toEqual([1, 0, 1]);
    expect([page(20, 'notes/1'), page(30, 'notes/1')]).toEqual([0, 1]);
  });

  it('an answer may name what its request has named', () => {
    const refusal = { type: 'error', code: 'PERMISSION_DENIED', detail: 'write default/notes/1' };
    expect(failuresOf({ type: 'commit', writes: [[KEY, null]] }, refusal)).toBe(0);
    expect(failuresOf({ type: 'commit', writes: [] }, refusal)).toBe(1);
  });

  const live = (after: number, to: number, value: string | null) =>
    failuresOf({ type: 'live', after }, { type: 'live', to, changes: [[KEY, [[to, 't', value]]]] });

  it('an answer to live queries has notes that are visible at its end (LQ7)', () => {
    expect([live(5, 15, '{}'), live(5, 25, '{}'), live(5, 35, '{}')]).toEqual([1, 0, 1]);
  });

  it('a note is taken away only if it was visible at the beginning of the answer, or within it (LQ7)', () => {
    expect([live(5, 15, null), live(15, 35, null), live(25, 35, null), live(30, 35, null)]).toEqual([1, 0, 0, 1]);
  });

  it('a live query of what a rule filters by other documents is refused, perhaps with the answer before (LQ7)', () => {
    const answer = { type: 'live', to: 5, changes: [] };
    const refusal = { ...answer, id: 0, ended: [[7, 'PERMISSION_DENIED', '']] };
    const request = { type: 'live', after: 5, add: [REMARKS] };
    expect(failuresOf(request, answer)).toBe(1);
    expect(failuresOf(request, { ...refusal, id: 1 })).toBe(0);
    expect(failuresOf(request, refusal, answer)).toBe(0);
    const ends = (watch: number) => [{ id: 2, type: 'live', after: 5, remove: [watch] }];
    expect(failuresWith(ends(7), request, answer)).toBe(0);
    expect(failuresWith(ends(8), request, answer)).toBe(1);
  });

  it('what a rule filters has no change feed (AR5)', () => {
    const answer = { type: 'changes', from: 5, to: 5, transactions: [] };
    expect(failuresOf({ type: 'changes', scope: 'default/notes/' }, answer)).toBe(1);
    expect(failuresOf({ type: 'changes', scope: 'default/photos/' }, answer)).toBe(0);
  });
});
