import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCheck } from './cli.js';

const GOOD = [
  '{"session":"a","seq":0,"tx":"t0","status":"committed","ops":[{"f":"w","k":"x","v":"1"}]}',
  '{"session":"b","seq":0,"tx":"t1","status":"committed","ops":[{"f":"r","k":"x","v":"1"}]}',
];
const BAD = [...GOOD, '{"session":"b","seq":1,"tx":"t2","status":"committed","ops":[{"f":"r","k":"x","v":null}]}'];

describe('npm run check', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'check-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function run(args: string[], stdin = ''): Promise<{ code: number; out: string; err: string }> {
    const printed = { out: '', err: '' };
    async function* input() {
      yield Buffer.from(stdin);
    }
    const code = await runCheck(args, {
      stdin: input(),
      stdout: { write: (text) => (printed.out += text) },
      stderr: { write: (text) => (printed.err += text) },
    });
    return { code, ...printed };
  }

  async function file(lines: string[]): Promise<string> {
    const path = join(folder, `${lines.length}.jsonl`);
    await writeFile(path, lines.map((line) => `${line}\n`).join(''));
    return path;
  }

  it('answers 0 and the counts for a consistent history', async () => {
    const { code, out, err } = await run([await file(GOOD)]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /: causally consistent\n {2}2 sessions, 2 transactions \(2 committed\), 1 read and 1 write of 1 key, /,
    );
    expect(err).toBe('');
  });

  it('answers 1 and the counterexample for a violation', async () => {
    const { code, out } = await run([await file(BAD)]);
    expect(code).toBe(1);
    expect(out).toContain('NOT causally consistent, 1 violation');
    expect(out).toContain('1. monotonic-reads');
  });

  it('reads standard input for -', async () => {
    const { code, out } = await run(['-'], BAD.join('\n'));
    expect(code).toBe(1);
    expect(out).toMatch(/^standard input: NOT/);
  });

  it('prints the verdict as one JSON object with --json', async () => {
    const good = await run(['--json', '-'], GOOD.join('\n'));
    expect(JSON.parse(good.out)).toMatchObject({ ok: true, file: '-', stats: { transactions: 2 } });
    const bad = await run(['--json', '-'], BAD.join('\n'));
    expect(JSON.parse(bad.out)).toMatchObject({ ok: false, found: 1, violations: [{ name: 'monotonic-reads' }] });
    expect(bad.code).toBe(1);
  });

  const unreadable: [string, string[], string, RegExp][] = [
    ['a file that does not exist', ['/no/such/file'], '', /^check: cannot read \/no\/such\/file: ENOENT.*\n$/],
    ['a folder', [tmpdir()], '', /^check: cannot read .*EISDIR.*\n$/],
    ['a line that is not JSON', ['-'], `${GOOD[0]}\nnonsense`, /^check: -: line 2: not JSON\n$/],
    [
      'a value written twice',
      ['-'],
      `${GOOD[0]}\n${GOOD[0]!.replace('"a"', '"c"')}`,
      /^check: -: line 2: value "1" .*\n$/,
    ],
    ['no transactions at all', ['-'], '', /^check: - holds no transactions\n$/],
    ['no file', [], '', /^error: missing required argument 'file'\n$/],
    ['an option that does not exist', ['--nonsense', '-'], '', /^error: unknown option '--nonsense'\n$/],
    ['a number of violations that is none', ['--max-violations', '0', '-'], '', /^error: .* whole number from 1.*\n$/],
  ];

  it.each(unreadable)('answers 2 and one line for %s', async (_, args, stdin, message) => {
    const { code, out, err } = await run(args, stdin);
    expect(err).toMatch(message);
    expect({ code, out }).toEqual({ code: 2, out: '' });
  });

  it('answers 0 to --help with the format and the exit codes', async () => {
    const { code, out } = await run(['--help']);
    expect(code).toBe(0);
    expect(out).toContain('Usage: check [options] <file>');
    expect(out).toContain('0 consistent, 1 violation found, 2 input that cannot be read');
  });
});
