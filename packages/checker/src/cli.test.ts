import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT, runCheck } from './cli.js';
import { GUARANTEES, LEVELS } from './rules/guarantees.js';

const GOOD = [
  '{"session":"a","seq":0,"tx":"t0","status":"committed","ops":[{"f":"w","k":"x","v":"1"}]}',
  '{"session":"b","seq":0,"tx":"t1","status":"committed","ops":[{"f":"r","k":"x","v":"1"}]}',
];
const BAD = [...GOOD, '{"session":"b","seq":1,"tx":"t2","status":"committed","ops":[{"f":"r","k":"x","v":null}]}'];

const MANY_SESSIONS = Array.from(
  { length: 33_000 },
  (_, i) => `{"session":"s${i}","seq":0,"tx":"t${i}","status":"committed","ops":[]}`,
).join('\n');

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

  it('npm run check ends with 0 and the counts for a consistent history', async () => {
    const { code, out, err } = await run([await file(GOOD)]);
    expect(code).toBe(0);
    expect(out).toMatch(/: OK, .*\n {2}2 sessions, 2 transactions \(2 committed\), 1 read and 1 write of 1 key, /);
    expect(out).toMatch(/\n {2}causal-convergence {4}holds\n/);
    expect(err).toBe('');
  });

  it('npm run check ends with 1 and the counterexample for a violation', async () => {
    const { code, out } = await run([await file(BAD)]);
    expect(code).toBe(1);
    expect(out).toContain(': NOT OK, 1 violation\n');
    expect(out).toMatch(/\n {2}monotonic-reads {7}VIOLATED\n/);
    expect(out).toContain('1. monotonic-reads');
  });

  it('npm run check reads standard input for -', async () => {
    const { code, out } = await run(['-'], BAD.join('\n'));
    expect(code).toBe(1);
    expect(out).toMatch(/^standard input: NOT OK/);
  });

  it('npm run check prints the verdict as one JSON object with --json', async () => {
    const good = await run(['--json', '-'], GOOD.join('\n'));
    expect(JSON.parse(good.out)).toMatchObject({
      ok: true,
      file: '-',
      stats: { transactions: 2 },
      guarantees: { 'causal-convergence': 'holds', convergence: 'not-judged' },
    });
    const bad = await run(['--json', '-'], BAD.join('\n'));
    expect(JSON.parse(bad.out)).toMatchObject({ ok: false, found: 1, violations: [{ name: 'monotonic-reads' }] });
    expect(bad.code).toBe(1);
  });

  it('npm run check judges the final states in the file', async () => {
    const final = (replica: string, v: string) => `{"replica":"${replica}","final":[{"k":"x","v":"${v}"}]}`;
    const good = await run(['-'], [...GOOD, final('r', '1'), final('s', '1')].join('\n'));
    expect(good).toMatchObject({ code: 0, out: expect.stringMatching(/\n {2}convergence {11}holds\n/) });
    const bad = await run(['-'], [...GOOD, final('r', '1'), final('s', '2')].join('\n'));
    expect(bad).toMatchObject({ code: 1, out: expect.stringMatching(/\n1\. divergent-replicas\n/) });
  });

  it('npm run check demands the guarantees of the level', async () => {
    const weak = await run(['--level', 'read-atomic', '-'], BAD.join('\n'));
    expect(weak).toMatchObject({ code: 0, out: expect.stringContaining('VIOLATED (not demanded)') });
    const operations = await run(['--level', 'causal-operations', '-'], BAD.join('\n'));
    expect(operations.code).toBe(1);
  });

  it('npm run check demands the guarantees of --demand', async () => {
    const others = await run(['--demand', 'read-your-writes,monotonic-writes', '-'], BAD.join('\n'));
    expect(others.code).toBe(0);
    const own = await run(['--demand', 'read-your-writes,monotonic-reads', '-'], BAD.join('\n'));
    expect(own.code).toBe(1);
  });

  it('npm run check reports its progress on stderr for a large history, and only then', async () => {
    const lines = Array.from(
      { length: 200_000 },
      (_, seq) => `{"session":"a","seq":${seq},"tx":"t${seq}","status":"committed","ops":[]}`,
    );
    const { code, err } = await run([await file(lines)]);
    expect(code).toBe(0);
    expect(err.split('\n')).toEqual([
      expect.stringMatching(/^check: 100000 lines read, (49|50|51|52|53) %$/),
      'check: 200000 lines read, 100 %',
      'check: finding what each read saw',
      'check: ordering transactions',
      'check: judging causal-convergence',
      '',
    ]);
  });

  const unusable: [number, string, string[], string, RegExp][] = [
    [3, 'a file that does not exist', ['/no/such/file'], '', /^check: cannot read \/no\/such\/file: ENOENT.*\n$/],
    [3, 'a folder', [tmpdir()], '', /^check: cannot read .*EISDIR.*\n$/],
    [4, 'a line that is not JSON', ['-'], `${GOOD[0]}\nnonsense`, /^check: -: line 2: not JSON\n$/],
    [
      4,
      'a value written twice',
      ['-'],
      `${GOOD[0]}\n${GOOD[0]!.replace('"a"', '"c"')}`,
      /^check: -: line 2: value "1" .*\n$/,
    ],
    [
      5,
      'more sessions than happens-before fits in memory for',
      ['-'],
      MANY_SESSIONS,
      /^check: -: 33000 trans.* 4\.1 GiB/,
    ],
    [6, 'no transactions at all', ['-'], '', /^check: - holds no transactions\n$/],
    [
      6,
      'no final states where they are demanded',
      ['--demand', 'durability', '-'],
      GOOD.join('\n'),
      /^check: - holds no final states that show durability\n$/,
    ],
    [2, 'no file', [], '', /^error: missing required argument 'file'\n$/],
    [2, 'an option that does not exist', ['--nonsense', '-'], '', /^error: unknown option '--nonsense'\n$/],
    [2, 'a level that does not exist', ['--level', 'best', '-'], '', /^error: .*Allowed choices are transactional/],
    [2, 'a guarantee that does not exist', ['--demand', 'read-your-writes,x', '-'], '', /^error: .*"x" is not a guar/],
    [
      2,
      'a number of violations that is none',
      ['--max-violations', '0', '-'],
      '',
      /^error: .* whole number from 1.*\n$/,
    ],
  ];

  it.each(unusable)('npm run check ends with %i and one line for %s', async (expected, _, args, stdin, message) => {
    const { code, out, err } = await run(args, stdin);
    expect(err).toMatch(message);
    expect({ code, out }).toEqual({ code: expected, out: '' });
  });

  it('npm run check has a code of its own for each way to end', () => {
    expect(new Set(Object.values(EXIT)).size).toBe(Object.values(EXIT).length);
  });

  it('npm run check ends with 0 for --help, and prints the format and the exit codes', async () => {
    const { code, out } = await run(['--help']);
    expect(code).toBe(0);
    expect(out).toContain('Usage: check [options] <file>');
    for (const exit of Object.values(EXIT)) expect(out).toMatch(new RegExp(`\\n {2}${exit} {2}\\w`));
    for (const name of [...GUARANTEES, ...Object.keys(LEVELS)]) expect(out).toContain(`\n  ${name}`);
  });
});
