import { HistoryError, type HistoryRecord, parseHistory, parseLine, readHistory } from './history.js';

/** A line of the recorder in packages/workload; its own test holds the same line. */
const RECORDED =
  '{"session":"c1","seq":0,"tx":"t-1","status":"committed","ops":[{"f":"r","k":"default/x","v":null},{"f":"w","k":"default/x","v":"c1:0"}]}';

async function collect(...chunks: (string | Uint8Array)[]): Promise<HistoryRecord[]> {
  async function* source() {
    for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  }
  const all: HistoryRecord[] = [];
  for await (const transaction of readHistory(source())) all.push(transaction);
  return all;
}

describe('a line of a history', () => {
  it('a line of a history is read as the recorder wrote it', () => {
    expect(parseLine(RECORDED, 1)).toEqual(JSON.parse(RECORDED));
  });

  it('a line of a history may hold more fields than the checker needs', () => {
    expect(parseLine(`{"region":"virginia",${RECORDED.slice(1)}`, 1)).toEqual(JSON.parse(RECORDED));
  });

  const broken: [string, string, RegExp][] = [
    ['not JSON', '{"session":', /^line 7: not JSON$/],
    ['an empty line', '', /^line 7: not JSON$/],
    ['an array', '[]', /JSON object/],
    ['null', 'null', /JSON object/],
    ['no session', '{"seq":0,"tx":"t","status":"committed","ops":[]}', /"session"/],
    ['an empty session', '{"session":"","seq":0,"tx":"t","status":"committed","ops":[]}', /"session"/],
    ['a negative seq', '{"session":"a","seq":-1,"tx":"t","status":"committed","ops":[]}', /"seq"/],
    ['a fractional seq', '{"session":"a","seq":0.5,"tx":"t","status":"committed","ops":[]}', /"seq"/],
    [
      'a seq beyond exact integers',
      '{"session":"a","seq":9007199254740993,"tx":"t","status":"committed","ops":[]}',
      /"seq"/,
    ],
    ['a tx that is a number', '{"session":"a","seq":0,"tx":5,"status":"committed","ops":[]}', /"tx"/],
    ['an unheard-of status', '{"session":"a","seq":0,"tx":"t","status":"maybe","ops":[]}', /"status"/],
    ['no ops', '{"session":"a","seq":0,"tx":"t","status":"committed"}', /"ops"/],
    ['an op that is no object', '{"session":"a","seq":0,"tx":"t","status":"committed","ops":[1]}', /"ops\[0\]"/],
    [
      'an unheard-of op',
      '{"session":"a","seq":0,"tx":"t","status":"committed","ops":[{"f":"x","k":"k","v":null}]}',
      /"ops\[0\]\.f"/,
    ],
    [
      'an op without a key',
      '{"session":"a","seq":0,"tx":"t","status":"committed","ops":[{"f":"r","v":null}]}',
      /"ops\[0\]\.k"/,
    ],
    [
      'a value that is a number',
      '{"session":"a","seq":0,"tx":"t","status":"committed","ops":[{"f":"r","k":"k","v":1}]}',
      /"ops\[0\]\.v"/,
    ],
    ['a final state that is no list', '{"replica":"r","final":{"x":"1"}}', /"final" must be an array/],
    ['a final state without a replica', '{"final":[]}', /"replica"/],
    ['a final value without a key', '{"replica":"r","final":[{"v":"1"}]}', /"final\[0\]\.k"/],
    ['a final value that is a number', '{"replica":"r","final":[{"k":"x","v":1}]}', /"final\[0\]\.v"/],
    [
      'a value left out',
      '{"session":"a","seq":0,"tx":"t","status":"committed","ops":[{"f":"r","k":"k"}]}',
      /"ops\[0\]\.v"/,
    ],
  ];

  it.each(broken)('a line of a history is refused with its number when it is %s', (_, text, message) => {
    const parse = () => parseLine(text, 7);
    expect(parse).toThrow(HistoryError);
    expect(parse).toThrow(message);
    expect(parse).toThrow(/^line 7: /);
  });

  it('a line of a history may have a key named __proto__', () => {
    const text = RECORDED.replaceAll('default/x', '__proto__');
    expect(parseLine(text, 1)).toEqual(JSON.parse(text));
  });

  it('a line of a history may be the final state of a replica', () => {
    const text = '{"replica":"virginia/0","final":[{"k":"x","v":"1"},{"k":"__proto__","v":null}]}';
    expect(parseLine(text, 1)).toEqual(JSON.parse(text));
  });

  it('a line of a history is a transaction when it names a replica and no final state', () => {
    expect(parseLine(`{"replica":"virginia/0",${RECORDED.slice(1)}`, 1)).toEqual(JSON.parse(RECORDED));
  });
});

describe('a whole history', () => {
  it('a whole history is read with and without a newline at its end', () => {
    expect(parseHistory(`${RECORDED}\n${RECORDED}`)).toHaveLength(2);
    expect(parseHistory(`${RECORDED}\n${RECORDED}\n`)).toHaveLength(2);
    expect(parseHistory('')).toEqual([]);
  });

  it('a refused history names the line that is wrong', () => {
    expect(() => parseHistory(`${RECORDED}\n\n${RECORDED}`)).toThrow(/^line 2: /);
  });

  it('a whole history is the same however its bytes are cut', async () => {
    const bytes = Buffer.from(`${RECORDED.replace('default/x', 'default/ключ')}\n${RECORDED}\n`);
    const whole = parseHistory(bytes.toString());
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(await collect(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual(whole);
    }
  });

  it('a history that ends in mid-line is refused with the number of that line', async () => {
    await expect(collect(`${RECORDED}\n${RECORDED.slice(0, 40)}`)).rejects.toThrow(/^line 2: not JSON/);
  });

  it('a history that is not UTF-8 is refused, also when it ends inside a character', async () => {
    await expect(collect(`${RECORDED}\n`, Uint8Array.of(0xff, 0x0a))).rejects.toThrow(/^line 2: not UTF-8/);
    await expect(collect(`${RECORDED}\n`, Uint8Array.of(0xd0))).rejects.toThrow(HistoryError);
  });
});
