/** A page in the browser of a developer who runs a cluster without API keys. */
import { WebSocket } from 'ws';
import { logged } from '../harness.js';
import { call, keyPath } from '../http.js';
import { until } from '../until.js';
import { target } from './target.js';

jest.setTimeout(60_000);

const victim = target();
beforeAll(async () => {
  expect((await call(victim.api, 'PUT', keyPath('diary'), { body: { secret: true } })).status).toBe(200);
  await until('it is visible', async () => (await call(victim.api, 'GET', keyPath('diary'))).status === 200);
});

/** The headers of a browser for a page of the origin, or for one whose name was bound to 127.0.0.1. */
const PAGES = [
  { page: 'of another site', headers: { origin: 'https://evil.example' } },
  { page: 'in a sandboxed frame', headers: { origin: 'null' } },
  { page: 'under a rebound name', headers: { host: 'evil.example:7101', origin: 'http://evil.example:7101' } },
];

it.each(PAGES)(
  'a page $page neither reads, writes nor deletes, and opens no session',
  logged(async ({ headers }) => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await call(
        victim.api,
        method,
        keyPath('diary'),
        method === 'PUT' ? { headers, body: {} } : { headers },
      );
      expect(answer.status).toBe(403);
      expect(answer.text).not.toContain('secret');
    }
    const socket = new WebSocket(`${victim.api.replace('http', 'ws')}/v1/session`, { headers });
    const received: unknown[] = [];
    socket.on('open', () => socket.send(JSON.stringify({ type: 'hello' })));
    socket.on('message', (message) => received.push(message));
    // A refused origin is the code of a close: a browser shows nothing of a refused upgrade.
    const refused = await new Promise((resolve) => {
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode));
      socket.on('close', resolve);
      socket.on('error', () => undefined);
    });
    socket.terminate();
    expect([refused, received]).toEqual(['host' in headers ? 403 : 4403, []]);
    expect((await call(victim.api, 'GET', keyPath('diary'))).json).toEqual({ secret: true });
  }),
);

it('a node without keys logs that its API is open', () => {
  expect(victim.cluster.fullLog('virginia-1')).toContain('the API is open');
});

it(
  'a node without keys or TLS does not start at an address that other machines reach, unless that is named',
  logged(async () => {
    await victim.cluster.stop();
    const args = ['--api-host', '0.0.0.0'];
    const open = victim.cluster.launch('virginia-1', { args });
    expect(await open.exited).toMatchObject({ code: 1 });
    expect(open.stderr).toContain('CONFIG_INVALID: without keys the API listens on loopback only');
    const env = { ISOCHRON_API_KEYS: 'one-key,another-key' };
    const plain = victim.cluster.launch('virginia-1', { args, env });
    expect(await plain.exited).toMatchObject({ code: 1 });
    expect(plain.stderr).toContain('CONFIG_INVALID: without TLS the API listens on loopback only');
    await victim.cluster.restart('virginia-1', { args: [...args, '--insecure', 'api'], env });
    expect((await call(victim.api, 'GET', keyPath('diary'))).status).toBe(401);
    const headers = { authorization: 'Bearer another-key' };
    expect((await call(victim.api, 'GET', keyPath('diary'), { headers })).json).toEqual({ secret: true });
  }),
);
