import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { startApi, type TestApi } from '../../../testing/test-api.js';
import { quality } from './request-headers.js';

const KEYS = '/v1/keyspaces/default/keys';
const JSON_TYPE = { 'content-type': 'application/json' };

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

/** The status of a request that is sent as it is, and the code of its answer. */
const exactly = (text: string): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect({ port: Number(new URL(api.url).port), host: '127.0.0.1' });
    let answer = '';
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      resolve(`${/ (\d{3}) /.exec(answer)?.[1]} ${/"code":"(\w+)"/.exec(answer)?.[1] ?? ''}`.trim());
    });
    socket.write(Buffer.from(text, 'latin1'));
  });

const head = (line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, 'host: localhost', 'connection: close', ...headers, '', ''].join('\r\n');

describe('a body in an encoding', () => {
  const bytes = { body: gzipSync('{"a":1}') };

  it.each([
    ['PUT', `${KEYS}/a`, 'application/json'],
    ['PUT', `${KEYS}/a`, 'application/octet-stream'],
    ['PATCH', `${KEYS}/a`, 'application/merge-patch+json'],
    ['POST', '/v1/commit', 'application/json'],
    ['POST', '/v1/read', 'application/json'],
    ['POST', '/v1/transactions', 'application/json'],
  ])('a body in an encoding that is not read is refused by %s %s of %s', async (method, path, type) => {
    for (const encoding of ['gzip', 'br', 'identity, gzip', 'x']) {
      const headers = { 'content-type': type, 'content-encoding': encoding };
      const answer = await api.call(method, path, { ...bytes, headers });
      expect(answer.json()).toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE', status: 415 });
      expect(answer.headers['accept-encoding']).toBe('identity');
    }
    expect(api.node.calls).toEqual([]);
  });

  it('a body in the encoding "identity" is taken', async () => {
    const headers = { ...JSON_TYPE, 'content-encoding': 'Identity' };
    expect((await api.call('PUT', `${KEYS}/identity`, { body: '1', headers })).status).toBe(200);
  });

  it.each(['iso-8859-1', '"utf-16"', 'us-ascii', 'UTF-8x', ''])(
    'a text in the charset %s is refused: it is read as UTF-8',
    async (charset) => {
      const headers = { 'content-type': `application/json; charset=${charset}` };
      for (const [method, path, body] of [
        ['PUT', `${KEYS}/a`, '"ä"'],
        ['PATCH', `${KEYS}/a`, '{}'],
        ['POST', '/v1/commit', '{"writes":[]}'],
      ] as const)
        expect((await api.call(method, path, { body, headers })).json()).toMatchObject({
          code: 'UNSUPPORTED_MEDIA_TYPE',
        });
    },
  );

  it.each(['Application/JSON; Charset="utf-8"', 'application/json;charset=UTF8', 'application/json; q=1'])(
    'a text of the type %s is taken',
    async (type) => {
      const answer = await api.call('PUT', `${KEYS}/utf-8`, { body: '1', headers: { 'content-type': type } });
      expect(answer.status).toBe(200);
    },
  );

  it('a part of a body, and a transfer in another coding, are refused', async () => {
    const part = { ...JSON_TYPE, 'content-range': 'bytes 0-0/9' };
    expect((await api.call('PUT', `${KEYS}/a`, { body: '1', headers: part })).json()).toMatchObject({ status: 400 });
    const coded = head(`PUT ${KEYS}/a`, 'content-type: application/json', 'transfer-encoding: gzip, chunked');
    expect(await exactly(`${coded}1\r\n1\r\n0\r\n\r\n`)).toBe('415 UNSUPPORTED_MEDIA_TYPE');
  });

  it.each(['if-match', 'if-none-match', 'if-unmodified-since'])(
    'a write under the condition %s is refused',
    async (name) => {
      const answer = await api.call('PUT', `${KEYS}/a`, { body: '1', headers: { ...JSON_TYPE, [name]: '"1"' } });
      expect(answer.json()).toMatchObject({ code: 'CONDITIONAL_WRITE_UNSUPPORTED' });
    },
  );
});

describe('an address', () => {
  it.each([
    `${KEYS}?prefix=%E4`,
    `${KEYS}?prefix=%`,
    `${KEYS}?start=%C3%28`,
    `${KEYS}?limit=1&prefix=%zz`,
    `${KEYS}?%E4=1`,
    '/v1/changes?keyspace=default&prefix=%E4',
    '/v1/stable?ts=%FF',
    '/readyz?exclude=%FF',
    `${KEYS}?prefix=\xc3\xa4`,
    `${KEYS}/\xc3\xa4`,
  ])('an address that is not percent-encoded UTF-8 is refused: %s', async (path) => {
    expect(await exactly(head(`GET ${path}`))).toBe('400 INVALID_REQUEST');
  });

  it('a plus in a query is a blank, and %2B is a plus', async () => {
    await api.call('PUT', `${KEYS}/a+b`, { body: '1', headers: JSON_TYPE });
    api.cluster.stabilise();
    const found = async (prefix: string) => (await api.call('GET', `${KEYS}?prefix=${prefix}`)).json().entries;
    expect(await found('a%2Bb')).toMatchObject([{ key: 'a+b' }]);
    expect(await found('a+b')).toEqual([]);
    const { paths } = (await api.call('GET', '/openapi.json')).json() as { paths: object };
    expect(JSON.stringify(paths)).toContain('%2B');
  });
});

it.each([
  ['text/event-stream', 1],
  ['text/event-stream;q=0', 0],
  ['application/json, Text/Event-Stream; charset=utf-8; q=0.5', 0.5],
  ['text/*;q=0.3', 0.3],
  ['*/*;q=0.2, text/*;q=0.3', 0.3],
  ['text/event-stream;q=nonsense', 1],
  ['application/json', 0],
  ['', 0],
])('the header "Accept: %s" names a stream with its quality, %d', (accept, expected) => {
  expect(quality(accept, 'text/event-stream')).toBe(expected);
});
