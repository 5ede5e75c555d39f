import type { Content, Value } from '../ids.js';
import { compose } from './compose.js';
import { Fold } from './fold.js';
import { MAX_OPERATIONS, parseOperations } from './operations.js';
import { Update } from './update.js';

const increment = new Update('[{"op":"increment","path":"/n","by":1}]');
const removeX = new Update('[{"op":"remove","path":"/x"}]');

/** The document that a write leaves in the place of another document. */
function written(base: Value | null, content: Content): Value | null {
  if (!(content instanceof Update)) return content;
  const fold = new Fold(base);
  fold.apply(content);
  return fold.result();
}

describe('several writes of a key in one transaction', () => {
  it.each<[string, Content, string]>([
    ['an update', increment, '{"n":12}'],
    ['a put', '{"n":5,"x":1}', '{"n":6,"x":1}'],
    ['a put of null', 'null', '{"n":1}'],
    ['a delete', null, '{"n":1}'],
    ['bytes', new Uint8Array([1]), '{"n":1}'],
  ])('an update after %s is the update that does both', (_what, older, result) => {
    const both = compose(older, increment);
    expect(both).toBeInstanceOf(Update);
    expect(written('{"n":10}', both)).toBe(result);
  });

  it('an update that changes nothing of bytes leaves them', () => {
    const bytes = new Uint8Array([1]);
    expect(compose(bytes, removeX)).toBe(bytes);
  });

  it('several updates compose in their order', () => {
    const all = [removeX, increment, increment].reduce<Content>(compose, '{"x":1}');
    expect(written(null, all)).toBe('{"n":2}');
  });

  it.each<[string, Content]>([
    ['an update', increment],
    ['a put', '{"n":5}'],
    ['a delete', null],
    ['bytes', new Uint8Array([1])],
  ])('updates after %s are refused above the limit of operations in one update', (_what, older) => {
    const most = Array.from({ length: MAX_OPERATIONS - 1 }, () => increment).reduce<Content>(compose, older);
    expect(most instanceof Update && parseOperations(most.operations)).toHaveLength(MAX_OPERATIONS);
    expect(() => compose(most, increment)).toThrow(
      expect.objectContaining({ code: 'UPDATE_INVALID', message: expect.stringContaining('1001 operations') }),
    );
  });
});
