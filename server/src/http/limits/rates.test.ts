import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DEFAULT_SERVING_LIMITS, LimitCounts, Rates } from '@isochron/sessions';
import { SessionClient } from '../../../testing/session-client.js';
import { startApi, type TestAnswer, type TestApi } from '../../../testing/test-api.js';
import type { NodeLimits } from './limits.js';
import { HELD_PER_CLIENT, inTurn } from './rates.js';
import { ClientTurns } from './turns.js';

const KEY = '/v1/keyspaces/default/keys/a';
const KEYS = (n: number) => ({ keys: Array.from({ length: n }, (_, i) => ({ keyspace: 'default', key: `k${i}` })) });

let api: TestApi;
afterEach(async () => {
  jest.useRealTimers();
  await api.close();
});

async function under(limits: Partial<NodeLimits>, apiKeys: readonly string[] = []): Promise<void> {
  api = await startApi({ limits, apiKeys });
  api.cluster.put('default/a', '1');
  api.cluster.stabilise();
}

const get = (key?: string): Promise<TestAnswer> =>
  api.call('GET', KEY, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } });
const times = async (count: number, make: () => Promise<TestAnswer>): Promise<TestAnswer[]> => {
  const answers: TestAnswer[] = [];
  for (let i = 0; i < count; i++) answers.push(await make());
  return answers;
};

it('a request above the rate is answered with 429, a sentence, Retry-After and the quota', async () => {
  await under({ requestsPerSecondPerClient: 10 });
  const answers = await Promise.all(Array.from({ length: 40 }, () => get()));
  const refused = answers.find(({ status }) => status !== 200)!;
  expect(refused.json()).toMatchObject({
    status: 429,
    code: 'RATE_LIMITED',
    detail: expect.stringMatching(/^.+ .+\.$/),
    retryable: true,
  });
  expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect(refused.headers['ratelimit-policy']).toBe('"requests";q=10;w=1, "bytes";q=1073741824;qu="content-bytes";w=1');
  // On a slow machine some of the budget is back before the refusal leaves.
  expect(refused.headers.ratelimit).toMatch(/^"requests";r=\d;t=1$/);
});

it('a request that waits for the time of Retry-After is served', async () => {
  await under({ requestsPerSecondPerClient: 10 });
  const answers = await Promise.all(Array.from({ length: 40 }, () => get()));
  const { headers } = answers.find(({ status }) => status === 429)!;
  await new Promise((resolve) => setTimeout(resolve, Number(headers['retry-after']) * 1000));
  expect((await get()).status).toBe(200);
});

it('answers name the quota and its rest only once more than half of it is used', async () => {
  await under({ requestsPerSecondPerClient: 100 });
  const [first] = await times(1, get);
  expect(first!.headers.ratelimit).toBeUndefined();
  let named: unknown;
  // On a slow machine the budget may be full again before the second request.
  while (named === undefined) {
    await api.call('POST', '/v1/read', { body: KEYS(95) });
    named = (await get()).headers.ratelimit;
  }
  expect(named).toMatch(/^"requests";r=[1-4]?\d;t=1$/);
});

it('principals have a budget each, whatever their addresses, and one that is used up leaves the others theirs', async () => {
  await under({ requestsPerSecondPerClient: 10 }, ['greedy', 'quiet']);
  const [greedy, quiet] = await Promise.all([
    Promise.all(Array.from({ length: 40 }, () => get('greedy'))),
    times(5, () => get('quiet')),
  ]);
  expect(greedy.some(({ status }) => status === 429)).toBe(true);
  expect(quiet.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
});

it('requests of a client that has used most of its budget take turns, and those of others go on at once', async () => {
  const bounds = { ...DEFAULT_SERVING_LIMITS, requestsPerSecondPerClient: 10 };
  const rates = new Rates(bounds, () => 0, new LimitCounts());
  const turns = new ClientTurns();
  const begun: string[] = [];
  const request = (from: string): void => inTurn(rates, turns, from, () => begun.push(from));
  rates.take('greedy', 6, 0);
  for (const from of ['greedy', 'greedy', 'quiet']) request(from);
  const byTurn = [[...begun]];
  for (let turn = 0; turn < 2; turn++) {
    await nextTurn();
    byTurn.push([...begun]);
  }
  expect(byTurn).toEqual([['quiet'], ['quiet', 'greedy'], ['quiet', 'greedy', 'greedy']]);
});

it('requests and the frames of sessions use one budget', async () => {
  await under({ requestsPerSecondPerClient: 10 });
  const client = await SessionClient.open(api.url);
  await client.hello();
  for (let id = 1; id <= 10; id++) client.send({ type: 'read', id, keys: ['default/a'] });
  await client.answer(10);
  const answers = await Promise.all(Array.from({ length: 40 }, () => get()));
  expect(answers.some(({ status }) => status === 429)).toBe(true);
  client.close();
});

it.each([
  ['a read of many keys', 'POST', '/v1/read', (n: number) => KEYS(n)],
  [
    'a commit of many keys',
    'POST',
    '/v1/commit',
    (n: number) => ({ writes: KEYS(n).keys.map((ref) => ({ ...ref, value: 1 })) }),
  ],
])('%s counts as many requests', async (_, method, path, bodyOf) => {
  await under({ requestsPerSecondPerClient: 100 });
  const answers = await Promise.all(Array.from({ length: 10 }, () => api.call(method, path, { body: bodyOf(90) })));
  expect(answers.some(({ status }) => status === 200)).toBe(true);
  const other = answers.find(({ status }) => status !== 200)!;
  expect(other.json()).toMatchObject({ code: 'RATE_LIMITED' });
  expect(other.headers.ratelimit).toMatch(/^"requests";r=\d+;t=1$/);
});

it('bytes of bodies and of answers above the rate make later requests wait', async () => {
  await under({ bytesPerSecondPerClient: 100_000 });
  const body = JSON.stringify('x'.repeat(300_000));
  const json = { 'content-type': 'application/json' };
  expect((await api.call('PUT', KEY, { headers: json, body })).status).toBe(200);
  expect((await get()).json()).toMatchObject({ code: 'RATE_LIMITED' });
  await api.close();
  await under({ bytesPerSecondPerClient: 100_000 });
  api.cluster.put('default/a', body);
  api.cluster.stabilise();
  expect((await get()).status).toBe(200);
  expect((await get()).json()).toMatchObject({ code: 'RATE_LIMITED' });
});

it('a client that goes on in spite of its refusals waits for them, and is cut off when too many wait', async () => {
  await under({ requestsPerSecondPerClient: 1, refusalsPerSecondPerClient: 10 });
  await times(12, get);
  // Refusals wait until the test lets the time pass.
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate', 'performance', 'Date'] });
  const settled: (number | 'cut off')[] = [];
  const note = (how: number | 'cut off'): void => void settled.push(how);
  const crowd = Array.from({ length: 400 }, () =>
    get().then(
      ({ status }) => note(status),
      () => note('cut off'),
    ),
  );
  // A bound for a crowd that never settles alone.
  const endMs = performance.now() + 20_000;
  while (settled.length < 400 - HELD_PER_CLIENT && performance.now() < endMs) await nextTurn();
  expect(settled).toContain('cut off');
  jest.advanceTimersByTime(200);
  for (let turn = 0; turn < 100; turn++) await nextTurn();
  expect(settled).toHaveLength(400 - HELD_PER_CLIENT);
  jest.advanceTimersByTime(600);
  await Promise.all(crowd);
  expect(settled.filter((how) => how === 429).length).toBeGreaterThanOrEqual(HELD_PER_CLIENT);
}, 60_000);

it('a client that pipelines requests without end on one connection is cut off', async () => {
  await under({ requestsPerSecondPerClient: 1, refusalsPerSecondPerClient: 10 });
  const socket = connect({ port: Number(new URL(api.url).port), host: '127.0.0.1' });
  const ended = new Promise((resolve) => socket.on('close', resolve));
  socket.on('error', () => undefined).resume();
  socket.write(`GET ${KEY} HTTP/1.1\r\nhost: localhost\r\n\r\n`.repeat(2000));
  await ended;
  expect((await api.call('GET', '/livez')).status).toBe(200);
});
