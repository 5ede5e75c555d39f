/// <reference types="jest" />
import { Lanes, sharesOf } from './lanes.js';

/** Work that ends when the test ends it. */
function controlled(names: readonly string[], lanes: Lanes) {
  const started: string[] = [];
  const ends = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  const results = names.map((name) =>
    lanes.run(() => {
      started.push(name);
      return new Promise<void>((resolve, reject) => ends.set(name, { resolve, reject }));
    }),
  );
  return { started, ends, results };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('lanes', () => {
  it('the next work starts when any work before it ends, not only the one of its own lane', async () => {
    const { started, ends, results } = controlled(['a', 'b', 'c', 'd'], new Lanes(2));
    expect(started).toEqual(['a', 'b']);
    ends.get('b')!.resolve();
    await results[1];
    await settled();
    expect(started).toEqual(['a', 'b', 'c']);
    ends.get('c')!.resolve();
    await settled();
    expect(started).toEqual(['a', 'b', 'c', 'd']);
  });

  it('work that fails gives its lane back', async () => {
    const { started, ends, results } = controlled(['a', 'b'], new Lanes(1));
    ends.get('a')!.reject(new Error('broken'));
    await expect(results[0]).rejects.toThrow('broken');
    await settled();
    expect(started).toEqual(['a', 'b']);
  });
});

describe('shares', () => {
  it('every item is in exactly one share, and no share is empty', () => {
    const items = [1, 2, 3, 4, 5];
    expect(sharesOf(items, 2)).toEqual([
      [1, 3, 5],
      [2, 4],
    ]);
    expect(sharesOf([1], 4)).toEqual([[1]]);
    expect(sharesOf([], 4)).toEqual([]);
  });
});
