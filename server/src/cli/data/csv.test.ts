import fc from 'fast-check';
import { recordsOf } from './csv.js';

async function* pieces(...chunks: string[]): AsyncGenerator<string> {
  yield* chunks;
}

async function read(...chunks: string[]): Promise<(readonly string[])[]> {
  const records: (readonly string[])[] = [];
  for await (const { fields } of recordsOf(pieces(...chunks))) records.push(fields);
  return records;
}

const quoted = (field: string): string => `"${field.replaceAll('"', '""')}"`;

describe('recordsOf', () => {
  it('recordsOf reads commas, quotes and line breaks inside quotes', async () => {
    const text = 'id,name\r\n1,"a ""b"", c"\n2,"two\r\nlines"\n';
    expect(await read(text)).toEqual([
      ['id', 'name'],
      ['1', 'a "b", c'],
      ['2', 'two\r\nlines'],
    ]);
  });

  it('recordsOf does not need a line break at the end, and skips empty lines', async () => {
    expect(await read('a,b\n\n,\n\r\nc,d')).toEqual([
      ['a', 'b'],
      ['', ''],
      ['c', 'd'],
    ]);
  });

  it('recordsOf removes a byte order mark', async () => {
    expect(await read('', '\uFEFFid\n')).toEqual([['id']]);
  });

  it('recordsOf reads all text that was written with quotes, however it is divided', async () => {
    const table = fc.array(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 4 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(table, fc.nat(), async (records, cut) => {
        const text = records.map((record) => `${record.map(quoted).join(',')}\n`).join('');
        const at = text.length === 0 ? 0 : cut % text.length;
        // A chunk of decoded text never ends inside a character.
        const whole = /[\uD800-\uDBFF]$/.test(text.slice(0, at)) ? at + 1 : at;
        expect(await read(text.slice(0, whole), text.slice(whole))).toEqual(records);
      }),
    );
  });

  it.each([
    { what: 'a quote that is never closed', text: 'a\n"b\nc', line: 2 },
    { what: 'text after a closing quote', text: 'a\nb\n"c"d', line: 3 },
    { what: 'a quote inside a plain field', text: 'a"b"', line: 1 },
  ])('recordsOf refuses $what, and names the line', async ({ text, line }) => {
    await expect(read(text)).rejects.toMatchObject({
      code: 'VALUE_INVALID',
      message: expect.stringContaining(`line ${line}:`),
    });
  });
});
