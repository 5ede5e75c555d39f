import { connect } from 'node:net';
import { SessionClient } from '../../../testing/session-client.js';
import { startApi, type TestAnswer, type TestApi } from '../../../testing/test-api.js';

let api: TestApi;
beforeEach(async () => {
  api = await startApi({ apiKeys: ['right'], limits: { failedAuthenticationsPerMinutePerAddress: 10 } });
});
afterEach(() => api.close());

const call = (key?: string): Promise<TestAnswer> =>
  api.call('GET', '/v1/clock', key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } });
const wrong = async (count: number): Promise<number[]> => {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) statuses.push((await call(`wrong-${i}`)).status);
  return statuses;
};

/** The status of a request from another loopback address. */
function callFrom(localAddress: string, key: string): Promise<string> {
  const socket = connect({ port: Number(new URL(api.url).port), host: '127.0.0.1', localAddress });
  socket.write(
    `GET /v1/clock HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n\r\n`,
  );
  return new Promise((resolve, reject) => {
    socket.once('data', (data) => resolve(String(data).slice(9, 12)));
    socket.once('error', reject);
  });
}

it('an address that has sent too many wrong credentials is refused without a look at them, with a time', async () => {
  expect(await wrong(11)).toEqual([...Array(10).fill(401), 401]);
  const answer = await call('right');
  expect(answer.json()).toMatchObject({ status: 429, code: 'RATE_LIMITED' });
  expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
});

it('other addresses go on while one is refused for its wrong credentials', async () => {
  await wrong(12);
  expect([await callFrom('127.0.0.3', 'right'), await callFrom('127.0.0.3', 'wrong')]).toEqual(['200', '401']);
});

it('wrong credentials of sessions and of requests count together, and so do missing ones', async () => {
  await wrong(5);
  for (let i = 0; i < 4; i++) {
    const client = await SessionClient.open(api.url);
    expect(await client.hello({ credentials: 'wrong' })).toMatchObject({ code: 'UNAUTHENTICATED' });
  }
  expect([(await call()).status, (await call()).status]).toEqual([401, 401]);
  const client = await SessionClient.open(api.url);
  const refusal = await client.hello({ credentials: 'right' });
  expect(refusal).toMatchObject({ type: 'error', code: 'RATE_LIMITED', retryAfterMs: expect.any(Number) });
  expect(await client.closed).toBe(1013);
});

it('right credentials count nothing', async () => {
  for (let i = 0; i < 30; i++) expect((await call('right')).status).toBe(200);
});

it('a living session goes on while its address is refused for wrong credentials', async () => {
  const client = await SessionClient.open(api.url);
  await client.hello({ credentials: 'right' });
  await wrong(12);
  client.send({ type: 'ping', id: 1 });
  expect(await client.answer(1)).toMatchObject({ type: 'pong' });
  client.close();
});
