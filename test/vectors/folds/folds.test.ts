import { fromBase64 } from '@isochron/client/encoding';
import { type Content, Fold, type Origin, parseOperations, Update, type Value } from '@isochron/core';
import { DEFAULTS } from '../generate.js';
import { DRAWN_FOLDS, folds, followed } from './folds.js';

type Shown = string | { parts: [string, number][] } | { bytes: string } | null;
interface Step {
  readonly operations: Shown;
  readonly at?: Origin;
  readonly valid: boolean;
  readonly result: Shown;
  readonly origin?: Origin;
}
interface Case {
  readonly base: Shown;
  readonly updates: readonly Step[];
  readonly composed: Shown;
}

const file = JSON.parse(JSON.stringify(folds(DEFAULTS.seed))) as { seed: number; folds: Case[] };

function stored(shown: Shown): Value | null {
  if (shown === null || typeof shown === 'string') return shown;
  return 'bytes' in shown ? fromBase64(shown.bytes) : shown.parts.map(([text, times]) => text.repeat(times)).join('');
}

const updateOf = ({ operations }: Step): Update => new Update(stored(operations) as string);

const isOnly = (op: string, text: string): boolean => {
  const operations = parseOperations(text);
  return operations.length === 1 && operations[0]?.op === op;
};

/** Cases for which a check fails, with the seed that drew them. */
const failing = (holds: (one: Case) => boolean): string[] =>
  file.folds.flatMap((one, i) =>
    holds(one) ? [] : [`seed ${file.seed}, fold ${i}: ${JSON.stringify(one).slice(0, 2000)}`],
  );

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

describe('the vectors of folds', () => {
  it('the vectors of folds are at least two thousand, and the same for the same seed', () => {
    expect(file.folds.length).toBeGreaterThan(DRAWN_FOLDS);
    expect(DRAWN_FOLDS).toBeGreaterThanOrEqual(2000);
    expect(same(folds(DEFAULTS.seed), file)).toBe(true);
    expect(same(folds(DEFAULTS.seed + 1), file)).toBe(false);
  });

  it('the vectors of folds have each result of the updates applied in one fold', () => {
    const holds = ({ base, updates }: Case): boolean => {
      const fold = new Fold(stored(base), { ts: 5 * 4096, txId: 'base' });
      return updates.every((step) => {
        fold.apply(updateOf(step), step.at);
        return same(fold.result(), stored(step.result)) && same(fold.origin, step.origin);
      });
    };
    expect(failing(holds)).toEqual([]);
  });

  it('a fold that continues from a result and its origin gives the same as one fold (F3)', () => {
    const holds = ({ base, updates }: Case): boolean => {
      let before: { value: Value | null; origin: Origin | undefined } = { value: stored(base), origin: undefined };
      return updates.every((step) => {
        const fold = new Fold(before.value, before.origin);
        fold.apply(updateOf(step), step.at);
        before = { value: fold.result(), origin: fold.origin };
        return same(before.value, stored(step.result));
      });
    };
    expect(failing(holds)).toEqual([]);
  });

  it('several writes of one transaction give the same as one after the other (F5)', () => {
    const at = { ts: 99 * 4096, txId: 'one' };
    const holds = ({ base, updates }: Case): boolean => {
      const valid = updates.filter((step) => step.valid).map(updateOf);
      const fold = new Fold(stored(base));
      const content = valid.reduce<Content>((older, update) => {
        const newer = followed(older, update);
        if (newer !== older) fold.apply(update, at);
        return newer;
      }, stored(base));
      const together = new Fold(content instanceof Update ? '[7]' : content);
      if (content instanceof Update) together.apply(content, at);
      return valid.length === 0 || same(fold.result(), together.result());
    };
    expect(failing(holds)).toEqual([]);
  });

  it.each(['set', 'remove', 'mergePatch', 'increment', 'max', 'min', 'arrayUnion', 'arrayRemove', 'append', 'init'])(
    'the vectors of folds change a document with %s at least ten times',
    (op) => {
      const changes = file.folds.flatMap(({ base, updates }) =>
        updates.filter((step, i) => {
          const before = new Fold(stored(i === 0 ? base : updates[i - 1]!.result));
          before.apply(new Update('[{"op":"remove","path":"/no such member"}]'));
          const only = step.valid && isOnly(op, stored(step.operations) as string);
          return only && !same(before.result(), stored(step.result));
        }),
      );
      expect(changes.length).toBeGreaterThanOrEqual(10);
    },
  );
});
