/**
 * HTTP: every request gets a response; a refusal is a problem document with one of our codes, and never a server fault.
 */
import fc from 'fast-check';
import { startApi, type TestApi } from '../../server/testing/test-api.js';
import { damaged, damages } from './damage.js';
import { fuzz } from './fuzz.js';
import { hostileValue, jsonOf, place, replaced } from './hostile.js';
import { ALL_OPERATIONS } from './operations.js';
import { answerTo, askRaw, isCoded, type RawRequest } from './requests.js';

const KEYS = '/v1/keyspaces/default/keys';
const TX = 'abcdefghijklmnopqrstuv.0';
const refs = [{ keyspace: 'default', key: 'a' }];
const json = { 'content-type': 'application/json' };
const operations = { 'content-type': 'application/vnd.isochron.operations+json' };

/** Correct requests. */
const GOOD: readonly RawRequest[] = [
  { method: 'GET', url: `${KEYS}/a` },
  { method: 'PUT', url: `${KEYS}/a`, headers: json, payload: '{"title":"milk"}' },
  { method: 'PATCH', url: `${KEYS}/a`, headers: json, payload: '{"title":null,"done":true}' },
  { method: 'PATCH', url: `${KEYS}/a`, headers: operations, payload: JSON.stringify(ALL_OPERATIONS) },
  { method: 'POST', url: `${KEYS}/b/claim`, headers: { ...json, prefer: 'wait=0' }, payload: '{"by":1}' },
  { method: 'DELETE', url: `${KEYS}/a` },
  { method: 'GET', url: `${KEYS}?prefix=a&limit=3` },
  { method: 'POST', url: '/v1/read', headers: json, payload: JSON.stringify({ keys: refs }) },
  {
    method: 'POST',
    url: '/v1/commit',
    headers: json,
    payload: JSON.stringify({ writes: [{ ...refs[0], value: { a: 1 } }] }),
  },
  {
    method: 'POST',
    url: '/v1/commit',
    headers: json,
    payload: JSON.stringify({ writes: [{ ...refs[0], operations: ALL_OPERATIONS }] }),
  },
  { method: 'POST', url: '/v1/transactions', headers: json, payload: '{}' },
  { method: 'GET', url: '/v1/losses?all=true&limit=3' },
  {
    method: 'POST',
    url: '/v1/nodes',
    headers: json,
    payload: JSON.stringify({ action: 'return', nodes: ['oregon-1'] }),
  },
  { method: 'POST', url: '/v1/drain', headers: json, payload: JSON.stringify({ end: true }) },
  {
    method: 'POST',
    url: '/v1/losses/acknowledge',
    headers: json,
    payload: JSON.stringify({ transactions: [TX] }),
  },
  {
    method: 'POST',
    url: `/v1/transactions/${TX}@virginia-1/read`,
    headers: json,
    payload: JSON.stringify({ keys: refs }),
  },
  {
    method: 'POST',
    url: `/v1/transactions/${TX}@virginia-1/commit`,
    headers: json,
    payload: JSON.stringify({ writes: [{ ...refs[0], bytes: 'AAEC' }] }),
  },
  { method: 'GET', url: `/v1/transactions/${TX}@virginia-1` },
  { method: 'DELETE', url: `/v1/transactions/${TX}@virginia-1` },
  { method: 'GET', url: '/v1/clock' },
  { method: 'GET', url: '/v1/stable?ts=1&timeout=1' },
  { method: 'GET', url: '/v1/cluster' },
  { method: 'GET', url: '/readyz' },
  { method: 'GET', url: '/openapi.json' },
];
const good = fc.constantFrom(...GOOD);
const withBody = fc.constantFrom(...GOOD.filter(({ payload }) => payload !== undefined));

const CANARY = `${KEYS}/canary`;

describe('HTTP', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startApi();
    await ask({ method: 'PUT', url: CANARY, headers: json, payload: '"alive"' });
    api.cluster.stabilise();
  });
  afterEach(async () => {
    const answer = await ask({ method: 'GET', url: CANARY });
    expect(answer).toMatchObject({ status: 200, body: '"alive"' });
    // Whatever was accepted, as the operations of an update, can be read.
    api.cluster.stabilise();
    await ask({ method: 'GET', url: `${KEYS}/a` });
  });
  afterAll(() => api.close());

  const port = () => Number(new URL(api.url).port);
  const ask = (request: RawRequest) => askRaw(port(), request);

  it.each(GOOD.map((request) => [`${request.method} ${request.url}`, request] as const))(
    'HTTP answers %s',
    async (_, request) => {
      await ask(request);
    },
  );

  const headerName = fc.constantFrom(
    'isochron-session',
    'idempotency-key',
    'if-match',
    'if-none-match',
    'prefer',
    'authorization',
    'content-type',
    'content-length',
    'content-encoding',
    'transfer-encoding',
    'origin',
    'accept',
    'x-forwarded-for',
    '__proto__',
    'constructor',
  );
  const headerValue = fc.oneof(
    fc.string({ maxLength: 300 }),
    fc.constantFrom(
      '',
      '0',
      '-1',
      '1e9',
      '99999999999',
      '4294967296',
      'chunked',
      'gzip',
      '*',
      '"1"',
      TX,
      'wait=1e9',
      'A'.repeat(5000),
    ),
    fc.constantFrom('application/json; charset=utf-16', 'application/octet-stream', 'text/html', 'multipart/form-data'),
  );
  const headers = fc.array(fc.tuple(headerName, headerValue), { minLength: 1, maxLength: 4 });
  fuzz('HTTP answers requests with any headers', 150, [good, headers], async (request, extra) => {
    await ask({ ...request, headers: { ...request.headers, ...Object.fromEntries(extra) } });
  });

  fuzz('HTTP answers requests with a damaged body', 150, [withBody, damages], async (request, changes) => {
    await ask({ ...request, payload: Buffer.from(damaged(Buffer.from(String(request.payload)), changes)) });
  });

  const parts = fc.array(fc.tuple(place, hostileValue), { minLength: 1, maxLength: 3 });
  fuzz('HTTP answers requests with a hostile part in their body', 150, [withBody, parts], async (request, spoilt) => {
    const body = spoilt.reduce((value, [at, by]) => replaced(value, at, () => by), JSON.parse(String(request.payload)));
    await ask({ ...request, payload: jsonOf(body) });
  });

  fuzz(
    'HTTP refuses operations with a code and changes nothing, or the document can be read with them',
    150,
    [parts],
    async (spoilt) => {
      const hostile = spoilt.reduce<unknown>((value, [at, by]) => replaced(value, at, () => by), ALL_OPERATIONS);
      const count = (): number => api.cluster.outcomes.size;
      const before = count();
      const request = { method: 'PATCH', url: `${KEYS}/fold`, headers: operations, payload: jsonOf(hostile) };
      const answer = await ask(request);
      expect(count()).toBe(answer?.status === 200 ? before + 1 : before);
      api.cluster.stabilise();
      const read = await ask({ method: 'GET', url: `${KEYS}/fold` });
      if (read?.status === 200) JSON.parse(read.body);
    },
  );

  it.each([10, 3000, 20_000, 100_000])('HTTP answers requests with documents %i levels deep', async (depth) => {
    const deep = [`${'['.repeat(depth)}${']'.repeat(depth)}`, `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`];
    for (const text of deep) {
      for (const method of ['PUT', 'PATCH', 'GET', 'PATCH'] as const) {
        await ask({ method, url: `${KEYS}/deep`, ...(method === 'GET' ? {} : { headers: json, payload: text }) });
      }
      const write = `{"writes":[{"keyspace":"default","key":"deep","value":${text}}]}`;
      await ask({ method: 'POST', url: '/v1/commit', headers: json, payload: write });
      await ask({ method: 'POST', url: '/v1/read', headers: json, payload: `{"keys":${text}}` });
      await ask({ method: 'POST', url: '/v1/transactions', headers: json, payload: text });
    }
  });

  const method = fc.constantFrom(
    'GET',
    'PUT',
    'POST',
    'PATCH',
    'DELETE',
    'HEAD',
    'OPTIONS',
    'TRACE',
    'QUERY',
    'PROPFIND',
  );
  const segment = fc.oneof(
    fc.constantFrom(
      'v1',
      'keyspaces',
      'default',
      'keys',
      'read',
      'commit',
      'transactions',
      'stable',
      'clock',
      '..',
      '.',
      '',
    ),
    fc.constantFrom(
      '%2e%2e',
      '%00',
      '%',
      '%zz',
      '%FF%FE',
      '%F0%9F%98%80',
      '%2F',
      '%25',
      '__proto__',
      'constructor',
      '*',
      ':key',
    ),
    fc.constantFrom(
      `${TX}@virginia-1`,
      `${TX}@`,
      '@',
      `${TX}@oregon-1`,
      `${TX}@__proto__`,
      'k'.repeat(1025),
      'k'.repeat(9000),
    ),
    fc.webSegment(),
  );
  const parameter = fc.tuple(
    fc.constantFrom('at', 'limit', 'cursor', 'prefix', 'start', 'ts', 'timeout', '__proto__', 'a[b]', ''),
    fc.oneof(
      fc.constantFrom(
        '',
        '0',
        '1',
        '-1',
        '1.5',
        '1e3',
        '0x10',
        'NaN',
        'null',
        '9007199254740993',
        '1e400',
        '%',
        '%00',
        '%ff',
      ),
      fc.webQueryParameters(),
    ),
  );
  const path = fc
    .tuple(fc.array(segment, { maxLength: 7 }), fc.array(parameter, { maxLength: 4 }))
    .map(([segments, query]) => {
      const search = query.map(([name, value]) => `${name}=${value}`).join('&');
      return `/${segments.join('/')}${search === '' ? '' : `?${search}`}`;
    });
  fuzz('HTTP answers any method, path and query', 150, [method, path], async (verb, url) => {
    await ask({ method: verb, url });
  });

  fuzz('HTTP answers any parameter of a listing', 100, [fc.array(parameter, { maxLength: 4 })], async (query) => {
    const search = query.map(([name, value]) => `${name}=${value}`).join('&');
    await ask({ method: 'GET', url: `${KEYS}?${search}` });
  });

  const cursor = fc.tuple(place, hostileValue).map(([at, value]) => {
    const fields = replaced([1, 'default', 'a', 5, 'a', null], at, () => value);
    return Buffer.from(jsonOf(fields)).toString('base64url').slice(0, 4000);
  });
  fuzz('HTTP answers any cursor', 100, [cursor], async (text) => {
    await ask({ method: 'GET', url: `${KEYS}?cursor=${text}` });
  });

  const raw = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 200 }),
    damages.map((changes) =>
      damaged(Buffer.from(`GET ${KEYS}/a HTTP/1.1\r\nhost: localhost\r\nx: y\r\n\r\n`), changes),
    ),
    fc
      .constantFrom(
        `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`,
        `GET /${'y'.repeat(100_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
        'POST /v1/read HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\n',
        'POST /v1/read HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4294967296\r\ncontent-type: application/json\r\n\r\n',
        'POST /v1/read HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}',
        'POST /v1/read HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n{}',
        'POST /v1/read HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff1\r\n{}',
        'GET / HTTP/9.9\r\n\r\n',
        'GET / HTTP/1.1\r\n\r\n',
      )
      .map((text) => Buffer.from(text)),
  );
  fuzz('the HTTP port answers data that is not HTTP, or ends the connection', 100, [raw], async (bytes) => {
    const answer = await answerTo(port(), bytes, true);
    // Node itself answers a request without Host (400) or with an expectation (417), as the standard requires.
    const byNode = answer?.type === '' && [400, 417].includes(answer.status);
    if (answer !== undefined && !byNode) isCoded(answer);
  });
});
