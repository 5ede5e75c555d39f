import fc from 'fast-check';
import { linesOf } from './input.js';
import { csvRows, formatRow, jsonRows, parseRow, type Row, storedLine } from './rows.js';

async function* pieces(...chunks: string[]): AsyncGenerator<string> {
  yield* chunks;
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe('linesOf', () => {
  it('linesOf divides at line feeds only, across pieces', async () => {
    expect(await all(linesOf(pieces('a\r\nb', 'c\n\n', '"\u2028"')))).toEqual(['a', 'bc', '', '"\u2028"']);
  });
});

describe('parseRow', () => {
  it('parseRow reads values, bytes and deletions', () => {
    expect(parseRow('{"key":"a","value":null}', 1)).toEqual({ key: 'a', document: null });
    expect(parseRow('{"key":"a","bytes":"AQI="}', 1)).toEqual({ key: 'a', document: new Uint8Array([1, 2]) });
    expect(parseRow('{"key":"a","delete":true}', 1)).toEqual({ key: 'a', document: undefined });
  });

  it('parseRow reads every line that formatRow writes', () => {
    const document = fc.oneof(fc.jsonValue(), fc.uint8Array());
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'binary' }), document, (key, value) => {
        const expected = value instanceof Uint8Array ? value : JSON.parse(JSON.stringify(value));
        expect(parseRow(formatRow(key, value), 1)).toEqual({ key, document: expected });
      }),
    );
  });

  it.each([
    ['{"key":"a","value":{"id":9007199254740993}}', 'row/value/id: a double holds 9007199254740992'],
    ['{"key":"a","value":{"n":[1e400]}}', 'row/value/n/0: the number 1e400'],
    ['{"key":"a","value":{"x":1,"x":2}}', 'row/value/x: a member of this name is there twice'],
    ['{"key":"a","key":"b","value":1}', 'row/key: a member of this name is there twice'],
    ['{"key":"a","value":"\\ud800"}', 'row/value: a text has half a surrogate pair'],
  ])('parseRow refuses what no door takes, with the line and the place: %s', (line, message) => {
    expect(() => parseRow(line, 7)).toThrow(
      expect.objectContaining({ code: 'VALUE_INVALID', message: expect.stringContaining(`line 7: ${message}`) }),
    );
  });

  it.each([
    'x',
    '[]',
    'null',
    '{"value":1}',
    '{"key":"","value":1}',
    '{"key":1,"value":1}',
    '{"key":"a"}',
    '{"key":"a","value":1,"delete":true}',
    '{"key":"a","delete":false}',
    '{"key":"a","bytes":"*"}',
    '{"key":"a","valu":1}',
  ])('parseRow refuses %s and names the line', (line) => {
    expect(() => parseRow(line, 7)).toThrow(
      expect.objectContaining({ code: 'VALUE_INVALID', message: expect.stringMatching(/^line 7: /) }),
    );
  });
});

it('the line of a stored value has the text of the document, or its bytes', () => {
  const text = '{"n":12345678901234567000,"t":"\\n"}';
  expect(storedLine('a"b', text)).toBe(`{"key":"a\\"b","value":${text}}`);
  expect(storedLine('a', new Uint8Array([1, 2]))).toBe('{"key":"a","bytes":"AQI="}');
});

describe('rows of a file', () => {
  it('jsonRows skips empty lines but counts them', async () => {
    expect(await all(jsonRows(pieces('{"key":"a","value":1}\n\n{"key":"b","value":2}\n')))).toHaveLength(2);
    await expect(all(jsonRows(pieces('\n\nx')))).rejects.toThrow('line 3: row: it is not JSON');
  });

  it('csvRows makes a document of every record of CSV', async () => {
    const expected: Row[] = [{ key: '7', document: { id: '7', name: 'Ann' } }];
    expect(await all(csvRows(pieces('id,name\n7,Ann\n'), 'id'))).toEqual(expected);
  });

  it.each([
    { what: 'an unknown key column', text: 'a,b\n1,2', message: 'no column "id"; there are a, b' },
    { what: 'a column that occurs twice', text: 'id,id\n1,2', message: 'occurs twice' },
    { what: 'a record that is too short', text: 'id,b\n1', message: 'line 2: 1 fields, the header has 2' },
    { what: 'an empty key', text: 'id,b\n,1', message: 'line 2: the column "id" is empty' },
  ])('csvRows refuses CSV with $what', async ({ text, message }) => {
    await expect(all(csvRows(pieces(text), 'id'))).rejects.toThrow(message);
  });
});
