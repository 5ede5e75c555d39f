import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster, cleanUp, logged } from './harness.js';
import { BUILT_ISOCHRON, type Result, run } from './processes.js';

jest.setTimeout(60_000);

const COMMANDS = [
  'dev',
  'node',
  'get',
  'set',
  'update',
  'claim',
  'delete',
  'list',
  'commit',
  'changes',
  'import',
  'export',
  'status',
  'bench',
];

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start();
});
afterAll(cleanUp);

/** Runs the command line as users run it. */
const isochron = (args: readonly string[], options: Parameters<typeof run>[2] = {}): Promise<Result> =>
  run(process.execPath, [BUILT_ISOCHRON, ...args], options);

const at = (region: string): string[] => ['--endpoint', cluster.endpoint(region)];
const file = (name: string): string => join(cluster.folder, name);

/** Runs a command that must succeed; its result is one line of JSON. */
async function json(...args: readonly string[]): Promise<Record<string, unknown>> {
  const result = await isochron([...args, '--json']);
  expect(result).toMatchObject({ code: 0 });
  expect(result.stdout).toMatch(/^\{.*\}\n$/);
  return JSON.parse(result.stdout);
}

async function ok(...args: readonly string[]): Promise<Result> {
  const result = await isochron(args);
  expect(result).toMatchObject({ code: 0 });
  return result;
}

describe('help', () => {
  it.each(COMMANDS)('isochron %s --help prints its usage and ends with 0', async (command) => {
    const { stdout, stderr } = await ok(command, '--help');
    expect(stdout).toMatch(new RegExp(`^Usage: isochron ${command} `));
    expect(stderr).toBe('');
  });

  it('isochron --help lists every command', async () => {
    const { stdout } = await ok('--help');
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
  });

  it('isochron --version prints a version', async () => {
    expect((await ok('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('a document', () => {
  it(
    'a document is set in one region, read in another, listed and deleted',
    logged(async () => {
      const set = await json('set', 'cli/a', '{"title":"buy milk"}', '--stable', ...at('virginia'));
      expect(set).toMatchObject({ stable: true, timestamp: expect.any(Number), transaction: expect.any(String) });
      const got = await ok('get', 'cli/a', ...at('ireland'));
      expect(JSON.parse(got.stdout)).toEqual({ title: 'buy milk' });
      expect(await json('get', 'cli/a', ...at('oregon'))).toEqual({ key: 'cli/a', value: { title: 'buy milk' } });
      const listed = await json('list', 'cli/', ...at('ireland'));
      expect(listed).toMatchObject({ more: false, entries: [{ key: 'cli/a', value: { title: 'buy milk' } }] });
      await json('delete', 'cli/a', '--stable', ...at('oregon'));
      const gone = await isochron(['get', 'cli/a', ...at('virginia')]);
      expect(gone).toMatchObject({ code: 1, stdout: '' });
      expect(gone.stderr).toMatch(/^error: KEY_NOT_FOUND: /);
      // The old snapshot still has the document.
      const past = await json('get', 'cli/a', '--at', String(set.timestamp), ...at('virginia'));
      expect(past).toEqual({ key: 'cli/a', value: { title: 'buy milk' } });
    }),
  );

  it(
    'a document is updated in two regions, claimed once, and exported as its result',
    logged(async () => {
      const add = (by: number) => JSON.stringify([{ op: 'increment', path: '/n', by }]);
      await ok('update', 'fold/a', '{"title":"tea"}', '--stable', ...at('virginia'));
      await Promise.all([
        json('update', 'fold/a', add(2), '--stable', ...at('virginia')),
        json('update', 'fold/a', add(40), '--stable', ...at('ireland')),
      ]);
      expect(await json('get', 'fold/a', ...at('oregon'))).toEqual({ key: 'fold/a', value: { title: 'tea', n: 42 } });
      const exported = await ok('export', 'fold/', ...at('oregon'));
      expect(exported.stdout).toBe('{"key":"fold/a","value":{"title":"tea","n":42}}\n');
      expect(await json('claim', 'fold/name', '{"user":1}', ...at('virginia'))).toEqual({
        won: true,
        key: 'fold/name',
        value: { user: 1 },
      });
      const lost = await isochron(['claim', 'fold/name', '{"user":2}', ...at('ireland')]);
      expect(lost).toMatchObject({ code: 1, stdout: 'lost to {"user":1}\n' });
      const bad = await isochron(['update', 'fold/a', '[{"op":"boil"}]', ...at('virginia')]);
      expect(bad).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: UPDATE_INVALID: /) });
    }),
  );

  it('a document comes from stdin as well', async () => {
    const set = await isochron(['set', 'cli/stdin', '-', ...at('virginia')], { stdin: '{"é":[1,null]}' });
    expect(set).toMatchObject({ code: 0, stdout: expect.stringMatching(/^committed at \d+\n$/) });
  });

  it('a document is visible to its session in any region, with --session-file', async () => {
    const session = ['--session-file', file('session.json')];
    for (let i = 0; i < 3; i++) {
      const [here, there] = i % 2 === 0 ? ['virginia', 'ireland'] : ['ireland', 'oregon'];
      await ok('set', 'cli/own', String(i), ...session, ...at(here!));
      expect((await ok('get', 'cli/own', ...session, ...at(there!))).stdout).toBe(`${i}\n`);
    }
    expect(statSync(file('session.json')).mode & 0o077).toBe(0);
  });
});

describe('many documents', () => {
  const rows = Array.from({ length: 1234 }, (_, i) => ({ key: `many/${String(i).padStart(5, '0')}`, value: { i } }));
  const lines = (all: readonly object[]) => `${all.map((row) => JSON.stringify(row)).join('\n')}\n`;

  it('many documents are written in one transaction with commit', async () => {
    const stdin = lines([
      { key: 'one/a', value: 1 },
      { key: 'one/b', bytes: 'AP8=' },
      { key: 'one/c', delete: true },
    ]);
    const result = await isochron(['commit', '-', '--stable', '--json', ...at('oregon')], { stdin });
    expect(result).toMatchObject({ code: 0 });
    const listed = await json('list', 'one/', ...at('ireland'));
    expect(listed.entries).toEqual([
      { key: 'one/a', value: 1 },
      { key: 'one/b', bytes: 'AP8=' },
    ]);
  });

  it(
    'many documents are imported in one region, and the same ones exported from another',
    logged(async () => {
      writeFileSync(file('rows.jsonl'), lines(rows));
      expect(await json('import', file('rows.jsonl'), ...at('virginia'))).toMatchObject({ rows: 1234, stable: true });
      const exported = await ok('export', 'many/', ...at('ireland'));
      expect(exported.stdout).toBe(lines(rows));
      await ok('export', 'many/', '--output', file('out.jsonl'), ...at('oregon'));
      expect(readFileSync(file('out.jsonl'), 'utf8')).toBe(lines(rows));
    }),
  );

  it('many documents are imported from CSV', async () => {
    writeFileSync(file('rows.csv'), 'id,name\n1,"a ""quoted"", name"\n2,"two\nlines"\n');
    const imported = await json('import', file('rows.csv'), '--key', 'id', '--prefix', 'csv/', ...at('virginia'));
    expect(imported).toMatchObject({ rows: 2 });
    expect((await json('list', 'csv/', ...at('oregon'))).entries).toEqual([
      { key: 'csv/1', value: { id: '1', name: 'a "quoted", name' } },
      { key: 'csv/2', value: { id: '2', name: 'two\nlines' } },
    ]);
  });

  it('an invalid document ends an import with its line number and exit code 1', async () => {
    const result = await isochron(['import', '-', ...at('virginia')], {
      stdin: '{"key":"bad/1","value":1}\n{"key":2}\n',
    });
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(/^error: VALUE_INVALID: line 2: .+$/m);
  });

  it.each([
    ['{"id":9007199254740993}', 'a double holds 9007199254740992, not the whole number 9007199254740993'],
    ['{"id":1e400}', 'the number 1e400 is beyond the range of a double'],
    ['{"id":1,"id":2}', 'a member of this name is there twice'],
  ])('import and set refuse the document %s with its place and exit code 1', async (document, fault) => {
    const stdin = `{"key":"exact/1","value":1}\n{"key":"exact/2","value":${document}}\n`;
    const imported = await isochron(['import', '-', ...at('virginia')], { stdin });
    expect([imported.code, imported.stderr]).toEqual([1, expect.stringContaining(`line 2: row/value/id: ${fault}`)]);
    const set = await isochron(['set', 'exact/3', document, ...at('virginia')]);
    expect([set.code, set.stderr]).toEqual([1, expect.stringContaining(`VALUE_INVALID: document/id: ${fault}`)]);
  });
});

describe('status', () => {
  it('the status command shows every region, node, partition and link as JSON', async () => {
    const status = await json('status', ...at('virginia'));
    const text = JSON.stringify(status);
    for (const { id } of cluster.nodes) expect(text).toContain(`"${id}"`);
    for (let i = 0; i < 6; i++) expect(text).toContain(`default/${i}`);
    expect(text).toContain('stalenessMs');
  });

  it('the status command shows a table for people', async () => {
    const { stdout } = await ok('status', ...at('oregon'));
    for (const { region, id } of cluster.nodes) {
      expect(stdout).toContain(region);
      expect(stdout).toContain(id);
    }
    expect(stdout).toMatch(/stale/i);
  });

  it('the status command reports a node that does not run, and fails when no node runs', async () => {
    await cluster.kill('oregon-1');
    const status = await isochron(['status', '--json', ...at('virginia')]);
    expect(JSON.stringify(JSON.parse(status.stdout))).toMatch(/ECONNREFUSED|no node answers/);
    await cluster.restart('oregon-1');
    const none = await isochron(['status', '--endpoint', 'http://127.0.0.1:1']);
    expect(none).toMatchObject({ code: 1, stdout: '' });
    expect(none.stderr).toMatch(/^error: CONNECTION_LOST: .+\n$/);
  });
});

describe('bench', () => {
  it('the bench command runs the given mix, and prints figures', async () => {
    const load = ['--mix', 'set', '--duration', '1', '--sessions', '4', '--keys', '20'];
    const result = await json('bench', ...load, '--keyspace', 'default', ...at('virginia'));
    expect(result).toMatchObject({ mix: 'set', sessions: 4, latencyMs: { p99: expect.any(Number) } });
    expect(result.transactions).toBeGreaterThan(0);
  });
});
