import { compareKeys } from '@isochron/core';
import fc from 'fast-check';
import { keysBetween, SortedKeys } from './sorted-keys.js';

const keys = fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 6 }), { maxLength: 60 });

describe('keys that are put in order when they are asked for', () => {
  it('the keys of a range are those that were added, in order, whenever they are asked for', () => {
    fc.assert(
      fc.property(
        keys,
        fc.nat(9),
        fc.string({ maxLength: 3 }),
        fc.option(fc.string({ maxLength: 3 })),
        (all, every, start, end) => {
          const sorted = new SortedKeys();
          const model: string[] = [];
          for (const [i, key] of all.entries()) {
            sorted.add(key);
            model.push(key);
            if (i % (every + 1) !== 0) continue;
            const { runs } = sorted;
            const found = runs.flatMap((run) => {
              const part = [...keysBetween(run, start, end)];
              expect(part).toEqual([...part].sort(compareKeys));
              return part;
            });
            const expected = model.filter(
              (one) => compareKeys(one, start) >= 0 && (end === null || compareKeys(one, end) < 0),
            );
            expect(found.sort(compareKeys)).toEqual(expected.sort(compareKeys));
          }
        },
      ),
    );
  });

  it('an answer stays as it was when keys are added', () => {
    const sorted = new SortedKeys();
    sorted.add('b');
    const before = sorted.runs;
    sorted.add('a');
    expect([before, sorted.runs]).toEqual([[['b']], [['a', 'b']]]);
  });

  it('an answer has few runs, however often keys are asked for', () => {
    const sorted = new SortedKeys();
    for (let i = 0; i < 1000; i++) {
      sorted.add(`k${(i * 7919) % 1000}`);
      expect(sorted.runs.length).toBeLessThanOrEqual(10);
    }
  });
});
