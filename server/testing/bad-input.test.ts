import { packWall } from '@isochron/core';
import { BAD_FRAMES, BAD_REQUESTS, type BadInputContext } from '../../test/e2e/bad-input.js';
import { parseClusterFile, writeClusterFile } from '../src/config/cluster-file.js';
import { sessionTokens } from '../src/session/tokens.js';
import { SessionClient } from './session-client.js';
import { SECRET, startApi, type TestApi } from './test-api.js';
import { testConfig } from './test-cluster.js';

let api: TestApi;
let context: BadInputContext;

const otherCluster = () =>
  parseClusterFile(
    writeClusterFile({
      protocol: 'paris',
      cluster: 'other',
      regions: [{ id: 'r', nodes: [{ id: 'n', api: 'http://127.0.0.1:1', peer: 'ws://127.0.0.1:2' }] }],
      keyspaces: [{ name: 'default', partitions: 1 }],
    }),
    'other.yaml',
  );

beforeAll(async () => {
  api = await startApi();
  const mine = sessionTokens({ secret: SECRET }, testConfig());
  const futureTimestamp = packWall(api.node.now() + 3_600_000);
  context = {
    token: mine.mint({ seen: { ts: api.node.ust() }, hwt: 0 }),
    foreignToken: sessionTokens({ secret: SECRET }, otherCluster()).mint({ seen: { ts: 1 }, hwt: 0 }),
    futureToken: mine.mint({ seen: { ts: futureTimestamp }, hwt: 0 }),
    futureTimestamp,
    node: 'virginia-1',
    foreignNode: 'oregon-1',
  };
});
afterAll(() => api.close());

describe('a bad request', () => {
  it.each(BAD_REQUESTS)(
    'a bad request, $name, is refused with $code',
    async ({ method, path, headers, body, status, code }) => {
      const before = api.cluster.outcomes.size;
      const payload = typeof body === 'function' ? body(context) : body;
      const request = { headers: headers?.(context) ?? {}, body: payload };
      const answer = await api.call(method, typeof path === 'string' ? path : path(context), request);
      expect({ status: answer.status, body: answer.text }).toEqual({
        status,
        body: expect.stringContaining(`"${code}"`),
      });
      expect(answer.headers['content-type']).toContain('application/problem+json');
      expect(answer.json()).toEqual({
        type: `/errors/${code}`,
        title: expect.any(String),
        status,
        code,
        detail: expect.any(String),
        retryable: expect.any(Boolean),
      });
      expect(api.cluster.outcomes.size).toBe(before);
    },
  );
});

describe('a bad frame', () => {
  it.each(BAD_FRAMES)('a bad frame, $name, is refused with $code', async ({ messages, hello, code, closes }) => {
    const before = api.cluster.outcomes.size;
    const client = await SessionClient.open(api.url);
    if (hello !== false) await client.hello();
    for (const message of typeof messages === 'function' ? messages(context) : messages) client.sendRaw(message);
    const error = await client.next((frame) => frame.type === 'error');
    expect(error).toMatchObject({ type: 'error', code, retryable: expect.any(Boolean) });
    if (closes === undefined) {
      client.send({ type: 'ping', id: 1000 });
      await client.next((frame) => frame.type === 'pong' && frame.id === 1000);
      client.close();
    }
    expect(await client.closed).toBe(closes ?? 1000);
    expect(api.cluster.outcomes.size).toBe(before);
  });
});
