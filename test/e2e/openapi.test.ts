import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { Cluster, cleanUp, logged } from './harness.js';
import { type Answer, call } from './http.js';
import { whenChanged } from './package-checks.js';
import { ROOT, run } from './processes.js';

jest.setTimeout(240_000);

/** What decides what the routes accept and answer. */
const check = whenChanged(
  'server/src/http',
  'server/src/auth',
  'infra/ci',
  'package-lock.json',
  'test/e2e/openapi.test.ts',
);

let cluster: Cluster;
let api: string;
beforeAll(async () => {
  cluster = await Cluster.start({ regions: ['virginia'] });
  api = cluster.endpoint('virginia');
});
afterAll(cleanUp);

describe('the OpenAPI document', () => {
  it(
    'the OpenAPI document describes a fixed set of answers',
    logged(async () => {
      const document = (await call(api, 'GET', '/openapi.json')).json as OpenApi;
      expect(document.openapi).toMatch(/^3\.1\./);
      const seen = new Set<string>();
      for (const exchange of await exchanges()) {
        expectDescribed(document, exchange);
        seen.add(`${exchange.method} ${exchange.template}`);
      }
      const all = Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      );
      expect([...seen].sort()).toEqual(all.sort());
    }),
  );

  check(
    'the OpenAPI document describes the answers to generated requests',
    logged(async () => {
      const installer = await run('bash', [`${ROOT}/infra/ci/ensure-schemathesis.sh`], { timeoutMs: 180_000 });
      if (installer.code === UNAVAILABLE) {
        process.stderr.write(`${installer.stderr}So there is only the fixed set of answers.\n`);
        return;
      }
      expect(installer).toMatchObject({ code: 0 });
      await runSchemathesis(installer.stdout.trim());
      expect((await call(api, 'GET', '/readyz')).status).toBe(200);
    }),
  );

  it(
    'the OpenAPI document has a page that the start page links to, and a page for each error',
    logged(async () => {
      const start = await call(api, 'GET', '/');
      expect(start).toMatchObject({ status: 302, headers: { location: '/docs' } });
      const page = await call(api, 'GET', '/docs');
      expect([page.status, page.headers['content-type']]).toEqual([200, expect.stringContaining('text/html')]);
      const problem = (await call(api, 'GET', '/v1/none')).json as { type: string };
      expect(await call(api, 'GET', problem.type)).toMatchObject({
        status: 200,
        text: expect.stringContaining('ROUTE_NOT_FOUND'),
      });
    }),
  );

  it('the node still runs after all requests', () => cluster.stop());
});

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];
/** Exit code of the installer on a machine that does not support the tool. */
const UNAVAILABLE = 3;

async function runSchemathesis(tool: string): Promise<void> {
  const cwd = join(cluster.folder, 'schemathesis');
  mkdirSync(cwd);
  const what = ['--max-examples', '20', '--phases', 'coverage,fuzzing', '--checks', CHECKS.join(',')];
  const how = ['--generation-deterministic', '--request-timeout', '10', '--workers', '1', '--warnings', 'off'];
  const args = ['run', `${api}/openapi.json`, ...what, ...how, '--no-color'];
  const result = await run(tool, args, { cwd, timeoutMs: 200_000 });
  if (result.code !== 0) throw new Error(`schemathesis ended with ${result.code}:\n${result.stdout}\n${result.stderr}`);
}

/** The part of the document that the test uses. */
interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}

interface Operation {
  readonly responses: Readonly<Record<string, Response>>;
}

interface Response {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
  readonly headers?: Readonly<Record<string, { readonly schema: { readonly type: string } }>>;
}

interface Exchange {
  readonly method: string;
  /** The path in the document. */
  readonly template: string;
  readonly answer: Answer;
}

const KEYS = '/v1/keyspaces/{keyspace}/keys/{key}';
const keys = [
  { keyspace: 'default', key: 'described' },
  { keyspace: 'default', key: 'bytes' },
  { keyspace: 'default', key: 'none' },
];

/** At least one request for every operation, and its usual failures. */
async function exchanges(): Promise<Exchange[]> {
  const done: Exchange[] = [];
  const ask = async (method: string, template: string, path: string, request?: Parameters<typeof call>[3]) => {
    const answer = await call(api, method, path, request);
    done.push({ method, template, answer });
    return answer;
  };
  const key = (name: string) => `/v1/keyspaces/default/keys/${name}`;
  const put = await ask('PUT', KEYS, key('described'), { body: { a: 1 } });
  const headers = { 'content-type': 'application/octet-stream' };
  await ask('PUT', KEYS, key('bytes'), { headers, body: Buffer.from([0, 255]) });
  await ask('PATCH', KEYS, key('described'), { body: { b: 2 } });
  const operations = { 'content-type': 'application/vnd.isochron.operations+json' };
  await ask('PATCH', KEYS, key('described'), { headers: operations, body: '[{"op":"increment","path":"/n","by":1}]' });
  await ask('PATCH', KEYS, key('described'), { headers: operations, body: '[]' });
  for (const name of ['bytes', 'claimed'])
    await ask('POST', `${KEYS}/claim`, `${key(name)}/claim`, { headers: { prefer: 'wait=20' }, body: { by: 1 } });
  await ask('DELETE', KEYS, key('deleted'));
  const { timestamp } = put.json as { timestamp: number };
  await ask('GET', '/v1/stable', `/v1/stable?ts=${timestamp}`);
  await ask('GET', KEYS, key('described'));
  await ask('GET', KEYS, key('bytes'));
  await ask('GET', KEYS, key('none'));
  await ask('GET', KEYS, key('described'), { headers: { 'if-none-match': '*' } });
  await ask('GET', '/v1/keyspaces/{keyspace}/keys', '/v1/keyspaces/default/keys?limit=1');
  await ask('GET', '/v1/keyspaces/{keyspace}/keys', '/v1/keyspaces/none/keys');
  await ask('POST', '/v1/read', '/v1/read', { body: { keys } });
  await ask('POST', '/v1/read', '/v1/read', { body: {} });
  await ask('POST', '/v1/commit', '/v1/commit', { body: { writes: [{ ...keys[0], delete: true }] } });
  const { id } = (await ask('POST', '/v1/transactions', '/v1/transactions')).json as { id: string };
  const path = `/v1/transactions/${id}`;
  await ask('GET', '/v1/transactions/{id}', path);
  await ask('POST', '/v1/transactions/{id}/read', `${path}/read`, { body: { keys } });
  await ask('POST', '/v1/transactions/{id}/commit', `${path}/commit`, {
    body: { writes: [{ ...keys[0], value: null }] },
  });
  await ask('GET', '/v1/transactions/{id}', path);
  await ask('POST', '/v1/transactions/{id}/read', `${path}/read`, { body: { keys } });
  await ask('DELETE', '/v1/transactions/{id}', path);
  await ask('DELETE', '/v1/transactions/{id}', '/v1/transactions/none');
  await ask('POST', '/v1/losses/acknowledge', '/v1/losses/acknowledge', { body: { all: true } });
  await ask('POST', '/v1/losses/acknowledge', '/v1/losses/acknowledge', { body: {} });
  await ask('POST', '/v1/drain', '/v1/drain', { body: { end: true } });
  await ask('POST', '/v1/drain', '/v1/drain', { body: { end: false } });
  await ask('POST', '/v1/nodes', '/v1/nodes', { body: { action: 'return', nodes: ['virginia-1'] } });
  await ask('POST', '/v1/nodes', '/v1/nodes', { body: { action: 'hold', nodes: ['nowhere-1'] } });
  await ask('GET', '/v1/changes', '/v1/changes?wait=0');
  await ask('GET', '/v1/changes', '/v1/changes?since=x');
  await ask('GET', '/v1/changes', '/v1/changes?at=1&values=true&before=true&wait=0');
  for (const plain of ['/v1/losses', '/v1/clock', '/v1/cluster', '/livez', '/readyz']) await ask('GET', plain, plain);
  return done;
}

const ajv = new Ajv({ strict: false, validateFormats: false });
/** Headers that HTTP itself and the CORS rules add. */
const COMMON = /^(?:connection|content-length|content-type|date|keep-alive|transfer-encoding|access-control-.*)$/;

/** Checks status, content type, headers and body of an answer against the document. */
function expectDescribed(document: OpenApi, { method, template, answer }: Exchange): void {
  const what = `${method} ${template}: ${answer.status} ${answer.text}`;
  const responses = document.paths[template]?.[method.toLowerCase()]?.responses ?? {};
  const response = responses[answer.status] ?? responses[`${String(answer.status)[0]}XX`];
  if (response === undefined || answer.status >= 500) throw new Error(`not described: ${what}`);
  const described = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
  const sent = Object.keys(answer.headers).filter((name) => !COMMON.test(name));
  expect([what, described]).toEqual([what, expect.arrayContaining(sent)]);
  for (const [name, { schema }] of Object.entries(response.headers ?? {})) {
    const value = answer.headers[name.toLowerCase()];
    if (value !== undefined && schema.type === 'integer')
      expect([what, value]).toEqual([what, expect.stringMatching(/^\d+$/)]);
  }
  if (response.content === undefined || Object.keys(response.content).length === 0) {
    expect([what, answer.text]).toEqual([what, '']);
    return;
  }
  const type = String(answer.headers['content-type']).split(';')[0]!;
  expect([what, Object.keys(response.content)]).toEqual([what, expect.arrayContaining([type])]);
  if (!type.endsWith('json')) return;
  const validate = ajv.compile({ ...response.content[type]!.schema, components: document.components });
  expect([what, validate(answer.json), validate.errors]).toEqual([what, true, null]);
}
