import { IsochronError } from '../errors.js';
import { MAX_OPERATIONS, parseOperations } from './operations.js';

const remove = { op: 'remove', path: '/a' };
const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);

function refusal(raw: unknown): string {
  try {
    parseOperations(typeof raw === 'string' ? raw : JSON.stringify(raw));
    return 'accepted';
  } catch (error) {
    if (error instanceof IsochronError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

describe('the operations of an update', () => {
  it('operations are read from the normal form of their text alone', () => {
    expect(parseOperations('[{"path":"/a","op":"remove"}]')).toEqual([remove]);
    expect(refusal(' [{"path":"/a","op":"remove"}] ')).toContain('not JSON in its normal form');
    expect(refusal('[{"op":"remove","path":"/b","path":"/a"}]')).toContain('not JSON in its normal form');
  });

  it.each([
    ['no array', '{}', 'at least one operation'],
    ['an empty array', '[]', 'at least one operation'],
    ['no JSON', '[', 'not JSON'],
    ['nothing', '', 'not JSON'],
    ['a number', [1], 'operations[0] has to be an object with `op`'],
    ['an array in the array', [[]], 'operations[0] has to be an object with `op`'],
    ['no kind', [remove, {}], 'operations[1].op must be one of set, remove'],
    ['an unknown kind', [{ op: 'toString', path: '' }], 'operations[0].op must be one of'],
    ['a missing member', [{ op: 'set', path: '/a' }], 'operations[0]: set has to have `value`'],
    ['a member too many', [{ ...remove, value: 1 }], 'operations[0]: remove has no `value`'],
    ['a path of an init', [{ op: 'init', path: '', value: 1 }], 'init has no `path`'],
    ['a path without a slash', [{ op: 'remove', path: 'a' }], '.path has to be a JSON Pointer'],
    ['a path with a wrong escape', [{ op: 'remove', path: '/a~2' }], '.path has to be a JSON Pointer'],
    ['a path that ends in an escape', [{ op: 'remove', path: '/a~' }], '.path has to be a JSON Pointer'],
    ['a path that is no text', [{ op: 'remove', path: ['a'] }], '.path has to be a JSON Pointer'],
    ['a step that is no number', [{ op: 'increment', path: '', by: '1' }], '.by has to be a number'],
    ['a step that is not finite', [{ op: 'increment', path: '', by: Number.NaN }], '.by has to be a number'],
    ['a number out of range', '[{"op":"increment","path":"","by":1e400}]', 'not JSON in its normal form'],
    [
      'a number out of range within a value',
      '[{"op":"set","path":"","value":[-1e400]}]',
      'not JSON in its normal form',
    ],
    ['a bound that is no number', [{ op: 'max', path: '', value: null }], '.value has to be a number'],
    ['items that are no array', [{ op: 'append', path: '', items: {} }], '.items has to be an array'],
    ['a lone surrogate', '[{"op":"set","path":"","value":"\\ud800"}]', 'not JSON in its normal form'],
    ['a lone surrogate in a name', '[{"op":"set","path":"","value":{"\\udc00":1}}]', 'not JSON in its normal form'],
    ['a lone surrogate in a path', '[{"op":"remove","path":"/\\ud800"}]', 'not JSON in its normal form'],
    ['a lone surrogate without an escape', '[{"op":"remove","path":"/\ud800"}]', 'not JSON in its normal form'],
    ['too many levels', [{ op: 'set', path: '/a', value: nested(128) }], '129 levels, above 128'],
    ['too many levels of items', [{ op: 'append', path: '', items: [nested(128)] }], 'at most 128 levels'],
    ['too long a path', [{ op: 'remove', path: '/a'.repeat(129) }], '129 levels, above 128'],
    ['far too many levels', `[${'['.repeat(100_000)}`, 'at most 128 levels'],
    ['too many operations', Array.from({ length: MAX_OPERATIONS + 1 }, () => remove), '1001 operations'],
  ])('operations are refused with UPDATE_INVALID: %s', (_what, raw, message) => {
    expect(refusal(raw)).toMatch(/^UPDATE_INVALID: /);
    expect(refusal(raw)).toContain(message);
  });

  it('operations at each limit are accepted', () => {
    expect(refusal([{ op: 'set', path: '/a', value: nested(127) }])).toBe('accepted');
    expect(refusal([{ op: 'set', path: '', value: nested(128) }])).toBe('accepted');
    expect(refusal([{ op: 'append', path: '', items: [nested(127)] }])).toBe('accepted');
    expect(refusal([{ op: 'remove', path: '/a'.repeat(128) }])).toBe('accepted');
    expect(refusal(Array.from({ length: MAX_OPERATIONS }, () => remove))).toBe('accepted');
    expect(refusal([{ op: 'remove', path: '/~0~1//\u20ac/\ud834\udd1e' }])).toBe('accepted');
  });
});
