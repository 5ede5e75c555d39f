/** A typed client that a developer generates from the OpenAPI document. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transform } from 'esbuild';
import { Cluster, cleanUp, logged } from './harness.js';
import { installed } from './installed.js';
import { ROOT, run } from './processes.js';

jest.setTimeout(120_000);

const KEY = 'openapi-client';
/** Every kind of operation; prints what the test expects. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { components, paths } from './isochron.js';

const client = createClient<paths>({ baseUrl: process.argv[2]! , headers: { authorization: 'Bearer ${KEY}' } });
const open = createClient<paths>({ baseUrl: process.argv[2]! });
const done: Record<string, unknown> = {};
const must = <T>(answer: { data?: T; error?: components['schemas']['Problem'] }): T => {
  if (answer.data === undefined) throw new Error(answer.error?.code);
  return answer.data;
};

const KEYS = '/v1/keyspaces/{keyspace}/keys/{key}';
const path = { keyspace: 'default', key: 'todos/1' };
const header = { 'idempotency-key': 'one of my own' };
const put = await client.PUT(KEYS, { params: { path, header }, body: { title: 'buy milk' } });
const written: components['schemas']['CommitAnswer'] = must(put);
const again: number = must(await client.PUT(KEYS, { params: { path, header }, body: { title: 'buy milk' } })).timestamp;
done.once = again === written.timestamp;
const session = { 'isochron-session': put.response.headers.get('isochron-session') ?? '' };
done.document = must(await client.GET(KEYS, { params: { path, header: session } }));

const { id } = must(await client.POST('/v1/transactions', { params: { header: session } }));
const read = must(await client.POST('/v1/transactions/{id}/read', { params: { path: { id } }, body: { keys: [path] } }));
const shown: components['schemas']['StoredValue'] | null | undefined = read.values[0];
done.inside = shown?.value;
const writes: components['schemas']['Write'][] = [{ ...path, delete: true }];
const commit = await client.POST('/v1/transactions/{id}/commit', { params: { path: { id } }, body: { writes } });
const status = must(await client.GET('/v1/transactions/{id}', { params: { path: { id } } }));
done.status = status.status === 'committed' && status.timestamp === must(commit).timestamp;

const later = { 'isochron-session': commit.response.headers.get('isochron-session') ?? '' };
const gone = await client.GET(KEYS, { params: { path, header: later } });
const code: components['schemas']['ErrorCode'] | undefined = gone.error?.code;
done.gone = [gone.response.status, code];
const query = { prefix: 'todos/', limit: 10 };
const page = must(await client.GET('/v1/keyspaces/{keyspace}/keys', {
  params: { path: { keyspace: 'default' }, query, header: later },
}));
done.listed = page.entries.map((entry) => entry.key);
done.refused = (await open.GET('/v1/clock')).error?.code;
done.ready = must(await open.GET('/readyz')).status;
console.log(JSON.stringify(done));
`;
/** Mistakes that the types must detect. */
const MISTAKES = [
  "client.GET('/v1/clocks');",
  "client.POST('/v1/read', { body: { keys: [{ keyspace: 'default' }] } });",
  "client.GET('/v1/stable', { params: { query: { timestamp: 1 } } });",
  "client.PUT('/v1/keyspaces/{keyspace}/keys/{key}', { params: { path: { keyspace: 'default' } }, body: 1 });",
  "client.GET('/v1/clock').then(({ data }) => data?.usd);",
];
const HEAD = `import createClient from 'openapi-fetch';
import type { paths } from './isochron.js';
const client = createClient<paths>({ baseUrl: '' });
`;

let cluster: Cluster;
let folder: string;
beforeAll(async () => {
  cluster = await Cluster.start({ regions: ['virginia'], env: { ISOCHRON_API_KEYS: KEY } });
  folder = join(cluster.folder, 'client');
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers'])
    symlinkSync(installed(name), join(folder, 'node_modules', name));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const generator = join(installed('openapi-typescript'), 'bin/cli.js');
  const args = [generator, `${cluster.endpoint('virginia')}/openapi.json`, '-o', 'isochron.ts'];
  expect(await run(process.execPath, args, { cwd: folder })).toMatchObject({ code: 0 });
});
afterAll(cleanUp);

/** The output of the compiler for a program beside the generated file. */
async function compiled(name: string, program: string): Promise<string> {
  writeFileSync(join(folder, name), program);
  const options = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
  const roots = ['--typeRoots', join(ROOT, 'node_modules/@types')];
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  return (await run(process.execPath, [tsc, ...options, ...roots, name], { cwd: folder })).stdout;
}

async function runs(name: string, program: string, ...args: string[]): Promise<string> {
  const { code } = await transform(program, { loader: 'ts', format: 'esm', target: 'node20' });
  writeFileSync(join(folder, name), code);
  const result = await run(process.execPath, [name, ...args], { cwd: folder });
  expect(result).toMatchObject({ code: 0, stderr: '' });
  return result.stdout;
}

describe('a client that openapi-typescript makes of the OpenAPI document', () => {
  it('a generated client compiles strictly, with the names and types of the document', async () => {
    expect(await compiled('program.ts', PROGRAM)).toBe('');
  });

  it.each(MISTAKES)('a program with a mistake does not compile against the generated client: %s', async (mistake) => {
    expect(await compiled('mistake.ts', HEAD)).toBe('');
    expect(await compiled('mistake.ts', HEAD + mistake)).toContain('mistake.ts(4,');
  });

  it('a generated client works against a node that requires keys', () =>
    logged(async () => {
      expect(JSON.parse(await runs('program.js', PROGRAM, cluster.endpoint('virginia')))).toEqual({
        once: true,
        document: { title: 'buy milk' },
        inside: { title: 'buy milk' },
        status: true,
        gone: [404, 'KEY_NOT_FOUND'],
        listed: [],
        refused: 'UNAUTHENTICATED',
        ready: 'ready',
      });
    })());

  it('the page about HTTP shows the tested client', () =>
    logged(async () => {
      const page = readFileSync(join(ROOT, 'server/src/http/README.md'), 'utf8');
      const [, example = ''] = /<!-- test: openapi -->\n+```ts\n([\s\S]*?)\n```/.exec(page) ?? [];
      expect(await compiled('example.ts', example)).toBe('');
      const keyed = `'${cluster.endpoint('virginia')}', headers: { authorization: 'Bearer ${KEY}' }`;
      const here = example.replace("'http://127.0.0.1:7101'", keyed);
      expect(await runs('example.js', here)).toMatch(/^\d+ \{ title: 'buy milk' \}\n$/);
    })());
});
