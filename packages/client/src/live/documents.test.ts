import { Documents } from './documents.js';
import { Scope } from './scope.js';
import { ScopeIndex } from './scope-index.js';

const KEY = 'default/a';

function documentsOfOneScope() {
  const scope = new Scope('a', { keys: [KEY] });
  const index = new ScopeIndex();
  index.add(scope);
  const documents = new Documents({ of: () => [], keys: () => [][Symbol.iterator]() } as never, index);
  const set = (value: string | null): void => {
    documents.set(KEY, value);
    documents.refresh([KEY]);
  };
  const take = () => ({ dirty: documents.takeDirty().size, changed: [...scope.takeChanged()] });
  return { scope, set, take };
}

describe('the documents of live scopes', () => {
  it.each([
    ['other', '"a"'],
    [null, '"a"'],
  ])('a document that changes to %s and back between two calls stays the same object (LQ3)', (between, value) => {
    const { scope, set, take } = documentsOfOneScope();
    set(value);
    expect(take()).toEqual({ dirty: 1, changed: [KEY] });
    const observed = scope.documents.get(KEY);
    set(between);
    set(value);
    expect(take().changed).toEqual([]);
    expect(scope.documents.get(KEY)).toBe(observed);
  });

  it('a document that changes back after a call is another object (LQ3)', () => {
    const { set, take } = documentsOfOneScope();
    for (const value of ['"a"', '"b"', '"a"']) {
      set(value);
      expect(take().changed).toEqual([KEY]);
    }
  });

  it('a document that appears and is removed between two calls is no change (LQ3)', () => {
    const { set, take } = documentsOfOneScope();
    set('"a"');
    set(null);
    expect(take().changed).toEqual([]);
  });
});
