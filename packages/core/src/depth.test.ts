import { MAX_DOCUMENT_DEPTH, nestedTooDeeply } from './depth.js';

const arrays = (depth: number, inner = ''): string => '['.repeat(depth) + inner + ']'.repeat(depth);
const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

describe('the depth of a document', () => {
  it.each([arrays, objects])('a document may be 128 levels deep, and not one more', (nested) => {
    expect(nestedTooDeeply(nested(MAX_DOCUMENT_DEPTH))).toBe(false);
    expect(nestedTooDeeply(nested(MAX_DOCUMENT_DEPTH + 1))).toBe(true);
  });

  it('the depth of a document counts levels, not brackets', () => {
    expect(nestedTooDeeply(`[${'[],{},'.repeat(1000)}1]`)).toBe(false);
    expect(nestedTooDeeply(`[${`${arrays(127)},`.repeat(10)}1]`)).toBe(false);
    expect(nestedTooDeeply(`[${`${arrays(127)},`.repeat(10)}${arrays(128)}]`)).toBe(true);
  });

  it('the depth of a document does not count what strings contain, however they end', () => {
    const brackets = '[{'.repeat(200);
    expect(nestedTooDeeply(JSON.stringify({ a: brackets, [brackets]: `\\"${brackets}`, b: '\\' }))).toBe(false);
    expect(nestedTooDeeply(`"${brackets}`)).toBe(false);
    expect(nestedTooDeeply(`"${'a'.repeat(300)}\\`)).toBe(false);
    expect(nestedTooDeeply(`["\\\\",${arrays(128)}]`)).toBe(true);
  });

  it('the depth of a document may have another limit', () => {
    expect(nestedTooDeeply(arrays(3), 3)).toBe(false);
    expect(nestedTooDeeply(arrays(4), 3)).toBe(true);
  });
});
