/** Documents that are nested without end, through every interface. */
import { pack } from '@isochron/wire/msgpack';
import { WebSocket } from 'ws';
import { logged } from '../harness.js';
import { call, keyPath } from '../http.js';
import { isochron } from '../processes.js';
import { until } from '../until.js';
import { target } from './target.js';

jest.setTimeout(60_000);

const MEGABYTES_7 = 7 * 2 ** 20;
const headers = { 'content-type': 'application/json' };
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const commitOf = (value: string): string => `{"writes":[{"keyspace":"default","key":"deep","value":${value}}]}`;

const victim = target();

it(
  'a document of 500,000 levels is refused by PUT, PATCH and commit, and an export goes through',
  logged(async () => {
    const text = '{ "n": 9007199254740991,\n "m": 1.10 }';
    expect((await call(victim.api, 'PUT', keyPath('exact'), { headers, body: text })).status).toBe(200);
    await until('it is visible', async () => (await call(victim.api, 'GET', keyPath('exact'))).status === 200);
    for (const [method, path, body] of [
      ['PUT', keyPath('deep'), nested(500_000)],
      ['PATCH', keyPath('deep'), nested(500_000)],
      ['POST', '/v1/commit', commitOf(nested(500_000))],
    ] as const) {
      expect((await call(victim.api, method, path, { headers, body })).json).toMatchObject({ code: 'VALUE_INVALID' });
    }
    const exported = await isochron(['export', '--endpoint', victim.api]);
    expect(exported.stdout).toBe('{"key":"exact","value":{"n":9007199254740991,"m":1.1}}\n');
  }),
);

it(
  'a commit of 7 MB that is nested without end is refused at once',
  logged(async () => {
    const body = commitOf(nested(MEGABYTES_7 / 2));
    const times: number[] = [];
    for (let i = 0; i < 3; i++) {
      const started = performance.now();
      expect((await call(victim.api, 'POST', '/v1/commit', { headers, body })).status).toBe(400);
      times.push(performance.now() - started);
    }
    // 3 s if it was parsed first.
    expect(Math.min(...times)).toBeLessThan(1000);
  }),
);

it.each(['isochron.v1+json', 'isochron.v1+msgpack'])(
  'a message of 7 MB that is nested without end ends the session (%s) and has no other effect',
  logged(async (protocol) => {
    const socket = new WebSocket(`${victim.api.replace('http', 'ws')}/v1/session`, protocol);
    const closed = new Promise((resolve) => socket.on('close', resolve));
    const isJson = protocol.endsWith('json');
    socket.on('open', () => socket.send(isJson ? '{"type":"hello"}' : pack({ type: 'hello' })));
    socket.once('message', () => socket.send(isJson ? nested(MEGABYTES_7 / 2) : Buffer.alloc(MEGABYTES_7, 0x91)));
    expect(await closed).toBe(4400);
    expect((await call(victim.api, 'GET', '/readyz')).status).toBe(200);
  }),
);
