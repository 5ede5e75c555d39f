import fc from 'fast-check';
import { linesOf } from './input.js';
import { csvRows, formatRow, jsonRows, parseRow, type Row, storedRow } from './rows.js';

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
      fc.property(fc.string({ minLength: 1 }), document, (key, value) => {
        const expected = value instanceof Uint8Array ? value : JSON.parse(JSON.stringify(value));
        expect(parseRow(formatRow(key, value), 1)).toEqual({ key, document: expected });
      }),
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

describe('the row of a stored value', () => {
  it('the row of a stored value copies the text of the document, on one line', () => {
    const line = '{"key":"a\\"b","value":{"n": 12345678901234567890.10,  "t":"\\n"}}';
    expect(storedRow('a"b', '{"n": 12345678901234567890.10,\r\n"t":"\\n"}').line).toBe(line);
    expect(storedRow('a', new Uint8Array([1, 2]))).toEqual({ line: '{"key":"a","bytes":"AQI="}', problem: undefined });
  });

  it('the row of a stored value copies a document that is nested too deeply, and reports it', () => {
    const value = '['.repeat(500_000) + ']'.repeat(500_000);
    const { line, problem } = storedRow('deep', value);
    expect(line).toBe(`{"key":"deep","value":${value}}`);
    expect(problem).toContain('128 levels');
  });

  it('the row of a stored value is left out where the value is not JSON, and reported', () => {
    expect(storedRow('a', '{"n":')).toEqual({ line: undefined, problem: expect.stringContaining('not JSON') });
  });
});

describe('rows of a file', () => {
  it('jsonRows skips empty lines but counts them', async () => {
    expect(await all(jsonRows(pieces('{"key":"a","value":1}\n\n{"key":"b","value":2}\n')))).toHaveLength(2);
    await expect(all(jsonRows(pieces('\n\nx')))).rejects.toThrow('line 3: is not JSON');
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
