import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HTTP_STATUS } from '@isochron/core';
import { DECLARATIONS } from '../../../testing/declared-answers.js';
import { startApi, type TestApi } from '../../../testing/test-api.js';
import { TestCluster, testConfig } from '../../../testing/test-cluster.js';
import { HttpLatency } from '../metrics/latency.js';

let api: TestApi;
afterEach(() => api.close());

/** The part of an operation of the OpenAPI document that these tests compare. */
interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly responses: Readonly<Record<string, { readonly description: string; readonly headers?: object }>>;
}

/** Operations of the OpenAPI document by method and path, as `GET /v1/transactions/{id}`. */
async function operations(): Promise<ReadonlyMap<string, Operation>> {
  const document = (await api.call('GET', '/openapi.json')).json() as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  return new Map(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
    ),
  );
}

const titleOf = ({ method, path }: { readonly method: string; readonly path: string }): string =>
  `${method} ${path.replace(/:(\w+)/g, '{$1}')}`;

/** The rows of the table of routes in the README: route, access and capability. */
function readmeRows(): string[] {
  const text = readFileSync(join(__dirname, '../README.md'), 'utf8');
  const rows = text.split('\n').filter((line) => /^\| `[A-Z]+ \//.test(line));
  return rows.map((row) => row.replace(/[|`]/g, ' ').trim().replace(/\s+/g, ' '));
}

describe('the declarations of routes', () => {
  it('the README has a row for each route, with its access and the capability that it needs', async () => {
    api = await startApi();
    const declared = DECLARATIONS.map(({ method, path, access, needs }) =>
      [method, path, access, needs].join(' ').trim(),
    );
    expect(readmeRows()).toEqual(declared);
  });

  it('the OpenAPI document has the declared routes and no others', async () => {
    api = await startApi();
    const documented = await operations();
    expect([...documented.keys()].sort()).toEqual(DECLARATIONS.map(titleOf).sort());
    for (const { id, tag, summary, answers, errors, ...route } of DECLARATIONS) {
      const { operationId, tags, responses, ...operation } = documented.get(titleOf(route))!;
      expect({ operationId, tags, summary: operation.summary }).toEqual({ operationId: id, tags: [tag], summary });
      expect(Object.keys(responses).sort()).toEqual([...Object.keys(answers), '4XX', '5XX'].sort());
      for (const [status, { description, headers = {} }] of Object.entries(answers)) {
        expect(responses[status]!.description).toBe(description);
        expect(Object.keys(responses[status]!.headers ?? {}).sort()).toEqual(Object.keys(headers).sort());
      }
      for (const code of errors)
        expect(responses[HTTP_STATUS[code] < 500 ? '4XX' : '5XX']!.description).toContain(`\`${code}\``);
    }
  });

  it('every route under /v1 is a declaration, or the WebSocket', async () => {
    const registered = new Set<string>();
    const latency = new HttpLatency();
    const { route } = latency;
    latency.route = (method, path) => {
      registered.add(`${method === 'HEAD' ? 'GET' : method} ${path}`);
      return route.call(latency, method, path);
    };
    api = await startApi({ latency });
    const declared = DECLARATIONS.flatMap(({ method, path, alias = path }) => [
      `${method} ${path}`,
      `${method} ${alias}`,
    ]);
    const others = [...registered].filter((route) => route.includes(' /v1/') && !declared.includes(route));
    expect(others).toEqual(['GET /v1/session']);
  });

  it('a route whose capability the protocol lacks refuses requests, and the OpenAPI document leaves it out', async () => {
    api = await startApi({ cluster: new TestCluster(testConfig('wren')) });
    const documented = await operations();
    const lacking = DECLARATIONS.filter(({ needs }) => needs && !api.node.protocol.capabilities.has(needs));
    expect(lacking.map(({ id }) => id)).toEqual(['orderNodes', 'getChanges', 'claimKey']);
    for (const { method, path } of lacking) {
      const answer = await api.call(method, path.replace(/:\w+/g, 'a'), method === 'POST' ? { body: {} } : {});
      expect(answer.json()).toMatchObject({ code: 'NOT_SUPPORTED_BY_PROTOCOL' });
      expect([...documented.keys()]).not.toContain(titleOf({ method, path }));
    }
  });
});
