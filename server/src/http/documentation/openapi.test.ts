import { startApi, type TestApi } from '../../../testing/test-api.js';
import { COMPONENT, withComponents } from './components.js';

let api: TestApi;
afterEach(() => api.close());

interface Header {
  readonly description?: string;
  readonly schema: { readonly type?: string };
}

interface Operation {
  readonly operationId: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly description?: string }[];
  readonly requestBody?: { readonly required: boolean };
  readonly responses: Readonly<Record<string, { readonly headers?: Readonly<Record<string, Header>> }>>;
}

interface Document {
  readonly security: readonly object[];
  readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly securitySchemes: object };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

async function documentOf(options: Parameters<typeof startApi>[0] = {}): Promise<Document> {
  api = await startApi(options);
  return (await api.call('GET', '/openapi.json')).json() as object as Document;
}
const operationsOf = (document: Document): Operation[] =>
  Object.values(document.paths).flatMap((methods) => Object.values(methods));

describe('the OpenAPI document', () => {
  it('the OpenAPI document gives every operation an id of its own, which generators turn into a name', async () => {
    const ids = operationsOf(await documentOf()).map(({ operationId }) => operationId);
    expect(ids.filter((id) => !/^[a-z][A-Za-z]+$/.test(id ?? ''))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('the OpenAPI document requires a key where the node does, and never for health', async () => {
    const open = await documentOf();
    expect(open.security).toEqual([{ apiKey: [] }, {}]);
    await api.close();
    const keyed = await documentOf({ apiKeys: ['k'] });
    expect(keyed.security).toEqual([{ apiKey: [] }]);
    expect(keyed.components.securitySchemes).toMatchObject({ apiKey: { type: 'http', scheme: 'bearer' } });
    expect(keyed.paths['/livez']!.get!.security).toEqual([]);
    expect(keyed.paths['/readyz']!.get!.security).toEqual([]);
    const free = operationsOf(keyed).filter(({ security }) => security !== undefined);
    expect(free.map(({ operationId }) => operationId).sort()).toEqual(['isAlive', 'isReady']);
  });

  it('the OpenAPI document has the shapes of bodies once, as components', async () => {
    const document = await documentOf();
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining([
        'CommitAnswer',
        'CommitRequest',
        'KeyRef',
        'Problem',
        'ReadAnswer',
        'Timestamp',
        'Write',
      ]),
    );
    const text = JSON.stringify(document);
    expect(text).not.toContain(COMPONENT);
    expect(text.split('RFC 9457 problem document').length - 1).toBe(1);
    const used = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name!);
    expect([...new Set(used)].sort()).toEqual(Object.keys(document.components.schemas).sort());
  });

  it('the OpenAPI document describes every header of requests and answers with its type', async () => {
    const operations = operationsOf(await documentOf());
    const headers = operations.flatMap(({ operationId, responses }) =>
      Object.entries(responses).flatMap(([status, answer]) =>
        Object.entries(answer.headers ?? {}).map(([name, header]) => ({
          at: `${operationId} ${status} ${name}`,
          header,
        })),
      ),
    );
    expect(headers.length).toBeGreaterThan(100);
    const poor = headers.filter(
      ({ header }) => header.schema.type === undefined || (header.description ?? '').length < 5,
    );
    expect(poor).toEqual([]);
    const parameters = operations.flatMap(({ parameters = [] }) => parameters).filter((one) => one.in === 'header');
    expect(parameters.filter(({ description }) => description === undefined)).toEqual([]);
    const { responses } = operations.find(({ operationId }) => operationId === 'getKey')!;
    expect(Object.keys(responses['200']!.headers!)).toEqual(
      expect.arrayContaining(['ETag', 'Isochron-Session', 'Isochron-Commit-Timestamp', 'Vary', 'Cache-Control']),
    );
  });

  it('the OpenAPI document requires the body of all requests but the one that opens a transaction', async () => {
    const bodies = operationsOf(await documentOf()).filter(({ requestBody }) => requestBody !== undefined);
    const optional = bodies.filter(({ requestBody }) => requestBody?.required === false);
    expect(bodies.length).toBeGreaterThan(5);
    expect(optional.map(({ operationId }) => operationId)).toEqual(['startTransaction']);
  });

  it('the OpenAPI document refuses two shapes of one name', () => {
    const named = (description: string) => ({ [COMPONENT]: 'Key', type: 'string', description });
    const document = (...descriptions: string[]) => ({ paths: { '/': descriptions.map(named) } });
    expect(withComponents(document('a', 'a'))).toEqual({
      paths: { '/': [{ $ref: '#/components/schemas/Key' }, { $ref: '#/components/schemas/Key' }] },
      components: { schemas: { Key: { type: 'string', description: 'a' } } },
    });
    expect(() => withComponents(document('a', 'b'))).toThrow('Two different schemas have the name Key');
    api = { close: async () => undefined } as TestApi;
  });
});

describe('the start page', () => {
  it('the start page leads to the documentation, or else to the OpenAPI document', async () => {
    api = await startApi({ docs: false });
    expect(await api.call('GET', '/')).toMatchObject({ status: 302, headers: { location: '/openapi.json' } });
  });
});
