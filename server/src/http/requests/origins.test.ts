import { WebSocket } from 'ws';
import { startApi, type TestAnswer, type TestApi } from '../../../testing/test-api.js';

const KEY = 'a-key-of-the-tests';
const PATH = '/v1/keyspaces/default/keys/a';
let api: TestApi;
afterEach(() => api.close());

const put = (headers: Record<string, string>): Promise<TestAnswer> => api.call('PUT', PATH, { body: {}, headers });

/** The HTTP status with which an upgrade is refused, or the code of the close that follows; 101 for a session. */
const upgrade = (headers: Record<string, string>): Promise<number> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`${api.url.replace('http', 'ws')}/v1/session`, { headers });
    socket.on('unexpected-response', (_request, response) => {
      socket.terminate();
      resolve(response.statusCode ?? 0);
    });
    socket.on('open', () => socket.send('{}'));
    // The node answers the wrong frame of a session that it serves.
    socket.on('message', () => {
      socket.terminate();
      resolve(101);
    });
    socket.on('close', resolve);
    socket.on('error', (error) => (socket.readyState === WebSocket.CONNECTING ? reject(error) : undefined));
  });

describe('without keys', () => {
  beforeEach(async () => {
    api = await startApi();
  });

  it.each([
    'https://evil.example',
    'null',
    'http://localhost.evil.example',
    'http://127.0.0.1@evil.example',
    'file://',
  ])('without keys, a page of %s neither reads nor writes', async (origin) => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const body = method === 'PUT' ? { body: {} } : {};
      const answer = await api.call(method, PATH, { ...body, headers: { origin } });
      expect(answer.json()).toMatchObject({ code: 'ORIGIN_NOT_ALLOWED', status: 403 });
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    }
    const preflight = { origin, 'access-control-request-method': 'PUT' };
    expect((await api.call('OPTIONS', PATH, { headers: preflight })).status).toBe(403);
    expect(api.node.calls).toEqual([]);
  });

  it.each(['evil.example', 'evil.example:7101', '10.0.0.7:7101', 'localhost.evil.example', '127.0.0.1.evil.example'])(
    'without keys, a name that was bound to this machine (%s) does not reach the API',
    async (host) => {
      const answer = await put({ host, origin: `http://${host}` });
      expect(answer.json()).toMatchObject({ code: 'HOST_NOT_ALLOWED', status: 403 });
      expect((await api.call('GET', '/v1/clock', { headers: { host } })).status).toBe(403);
      expect((await api.call('GET', '/nothing', { headers: { host } })).status).toBe(403);
    },
  );

  it('without keys, WebSocket sessions are refused by the same rules', async () => {
    expect(await upgrade({ origin: 'https://evil.example' })).toBe(4403);
    expect(await upgrade({ host: 'evil.example' })).toBe(403);
    expect(await upgrade({ origin: 'http://localhost:5173' })).toBe(101);
    expect(await upgrade({})).toBe(101);
  });

  it.each(['http://localhost:5173', 'https://app.localhost', 'http://127.0.0.1:3000', 'http://[::1]:3000'])(
    'without keys, pages of this machine, such as %s, may call and read the headers of answers',
    async (origin) => {
      const headers = { origin, 'access-control-request-method': 'PUT' };
      const preflight = await api.call('OPTIONS', PATH, { headers });
      expect(preflight.status).toBe(204);
      expect(preflight.headers).toMatchObject({ 'access-control-allow-origin': origin });
      expect(preflight.headers.vary).toContain('Origin');
      expect(preflight.headers['access-control-allow-methods']).toContain('PUT');
      const answer = await put({ origin });
      expect(answer.status).toBe(200);
      expect(answer.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'Origin' });
      expect(answer.headers['access-control-expose-headers']).toContain('Isochron-Session');
    },
  );

  it.each([
    ['GET', `${PATH.slice(0, -1)}100%`, 400],
    ['GET', '/v1/%zz', 400],
    ['GET', `${PATH.slice(0, -1)}${'k'.repeat(9000)}`, 400],
    ['GET', '/v1/keyspaces/default/keys?prefix=%E4', 400],
    ['GET', '/v1/nothing', 404],
    ['POST', '/v1/clock', 405],
    ['POST', '/v1/commit', 415],
  ])('without keys, pages of this machine read every refusal: of %s %s', async (method, path, status) => {
    const origin = 'http://localhost:5173';
    const answer = await api.call(method, path, { headers: { origin }, ...(status === 415 ? { body: 'x' } : {}) });
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': origin });
    expect(answer.headers['access-control-expose-headers']).toContain('Retry-After');
    const foreign = await api.call(method, path, { headers: { origin: 'https://evil.example' } });
    expect(foreign.json()).toMatchObject({ code: 'ORIGIN_NOT_ALLOWED' });
    expect(foreign.headers['access-control-allow-origin']).toBeUndefined();
    const preflight = { origin, 'access-control-request-method': method, 'access-control-request-headers': 'x-a, x-b' };
    const allowed = await api.call('OPTIONS', path, { headers: preflight });
    expect(allowed.status).toBe(204);
    expect(allowed.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-headers': 'x-a, x-b',
    });
  });

  it('without keys, pages of this machine read the refusal of what is no request, and of a name', async () => {
    const origin = 'http://localhost:5173';
    const large = await api.call('GET', '/v1/clock', { headers: { origin, 'x-large': 'x'.repeat(20_000) } });
    expect(large.json()).toMatchObject({ code: 'REQUEST_TOO_LARGE' });
    expect(large.headers['access-control-allow-origin']).toBe(origin);
    const named = await api.call('GET', '/v1/clock', { headers: { origin, host: 'evil.example' } });
    expect(named.json()).toMatchObject({ code: 'HOST_NOT_ALLOWED' });
    expect(named.headers['access-control-allow-origin']).toBe(origin);
  });

  it('without keys, load balancers ask for health by whatever name, and nothing else', async () => {
    const headers = { host: '10.0.0.7:7101' };
    expect((await api.call('GET', '/livez', { headers })).status).toBe(200);
    expect((await api.call('GET', '/readyz', { headers })).status).toBe(200);
    expect((await api.call('GET', '/readyz', { headers: { ...headers, origin: 'http://10.0.0.7:7101' } })).status).toBe(
      403,
    );
    expect((await api.call('GET', '/v1/clock', { headers })).status).toBe(403);
  });

  it.each(['localhost:7101', 'LOCALHOST', '127.0.0.1', '[::1]:7101'])(
    'without keys, the API is served as %s',
    async (host) => {
      expect((await put({ host })).status).toBe(200);
    },
  );
});

describe('without keys, with origins and hosts that the operator lists', () => {
  beforeEach(async () => {
    api = await startApi({ corsOrigins: ['https://app.example'], allowHosts: ['Db.example'] });
  });

  it('without keys, the pages that the operator lists may call, besides those of this machine', async () => {
    expect((await put({ origin: 'https://app.example' })).status).toBe(200);
    expect((await put({ origin: 'https://app.example:444' })).status).toBe(403);
    expect((await put({ origin: 'http://localhost:5173' })).status).toBe(200);
  });

  it('without keys, the API is served under the names that the operator lists, also to its own pages', async () => {
    expect((await put({ host: 'db.example:7101' })).status).toBe(200);
    expect((await put({ host: 'db.example:7101', origin: 'http://db.example:7101' })).status).toBe(200);
    expect((await put({ host: 'other.example:7101' })).status).toBe(403);
  });
});

describe('with keys', () => {
  const authorization = `Bearer ${KEY}`;

  it('with keys, web pages of any origin may call under any name: they need a key', async () => {
    api = await startApi({ apiKeys: [KEY] });
    const headers = { origin: 'https://app.example', host: 'db.example', authorization };
    const answer = await put(headers);
    expect(answer.status).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect((await put({ origin: 'https://app.example' })).status).toBe(401);
  });

  it('with keys, the origins and hosts that the operator lists are the only ones', async () => {
    api = await startApi({ apiKeys: [KEY], corsOrigins: ['https://app.example'], allowHosts: ['db.example'] });
    expect((await put({ origin: 'https://app.example', host: 'db.example', authorization })).status).toBe(200);
    expect((await put({ origin: 'https://evil.example', host: 'db.example', authorization })).status).toBe(403);
    expect((await put({ host: 'evil.example', authorization })).status).toBe(403);
  });
});
