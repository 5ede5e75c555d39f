import { createHash } from 'node:crypto';
import { packWall } from '@isochron/core';
import { SessionClient } from '../../testing/session-client.js';
import { send, startApi, type TestAnswer, type TestApi } from '../../testing/test-api.js';
import { HttpLatency } from './metrics/latency.js';
import { buildMetrics } from './metrics/metrics.js';

let api: TestApi;
afterEach(() => api.close());

const put = (target: TestApi, headers: Record<string, string> = {}): Promise<TestAnswer> =>
  target.call('PUT', '/v1/keyspaces/default/keys/a', { body: {}, headers });

describe('time and health', () => {
  beforeEach(async () => {
    api = await startApi();
  });

  it('GET /v1/clock answers the time, the stable time and its age', async () => {
    const { ust, now } = api.cluster;
    expect((await api.call('GET', '/v1/clock')).json()).toEqual({
      ust,
      hlc: api.node.hlc(),
      now,
      stalenessMs: api.node.stalenessMs(),
      stale: false,
      heldBackBy: null,
    });
  });

  it('GET /v1/stable waits until a timestamp is universally stable', async () => {
    const { timestamp } = (await put(api)).json();
    const late = await api.call('GET', `/v1/stable?ts=${timestamp}&timeout=1`);
    expect(late.json()).toMatchObject({ code: 'STABLE_TIMEOUT', retryable: true });
    const waiting = api.call('GET', `/v1/stable?ts=${timestamp}&timeout=5000`);
    const timer = setInterval(() => api.cluster.stabiliseEverywhere(), 5);
    const { ust } = (await waiting).json();
    clearInterval(timer);
    expect(ust).toBeGreaterThanOrEqual(Number(timestamp));
  });

  it('GET /v1/stable waits until every node serves the timestamp, not only this one', async () => {
    const { timestamp } = (await put(api)).json();
    api.cluster.stabilise('virginia');
    expect(api.node.ust()).toBeGreaterThan(Number(timestamp));
    const early = await api.call('GET', `/v1/stable?ts=${timestamp}&timeout=1`);
    expect(early.json()).toMatchObject({ code: 'STABLE_TIMEOUT' });
    api.cluster.stabiliseEverywhere();
    const answer = await api.call('GET', `/v1/stable?ts=${timestamp}&timeout=1`);
    expect(answer.json()).toEqual({ ust: api.cluster.served });
  });

  it('GET /v1/stable with the token of a write that may be deferred is refused (M10)', async () => {
    const { json, headers } = await put(api);
    const timestamp = Number(json().timestamp);
    api.cluster.stabiliseEverywhere();
    api.node.cuts = [{ map: 1, horizon: timestamp - 1, nodes: [1] }];
    const session = { headers: { 'isochron-session': String(headers['isochron-session']) } };
    const answer = await api.call('GET', `/v1/stable?ts=${timestamp}`, session);
    expect([answer.status, answer.json()]).toMatchObject([409, { code: 'SESSION_DEFERRED' }]);
    expect((await api.call('GET', `/v1/stable?ts=${timestamp}`)).status).toBe(200);
    api.node.cuts = [{ map: 1, horizon: timestamp, nodes: [1] }];
    expect((await api.call('GET', `/v1/stable?ts=${timestamp}`, session)).status).toBe(200);
  });

  it('GET /v1/cluster names regions, keyspaces and the node, and no peering address', async () => {
    const answer = await api.call('GET', '/v1/cluster');
    expect(answer.json()).toMatchObject({
      cluster: 'testing',
      protocol: 'paris',
      regions: [{ id: 'virginia', nodes: [{ id: 'virginia-1', api: 'http://127.0.0.1:7101' }, {}] }, {}],
      keyspaces: [{ name: 'default', partitions: 4 }, {}],
      node: { node: 'virginia-1', region: 'virginia' },
      capabilities: expect.arrayContaining(['transactions']),
    });
    expect(answer.text).not.toContain('ws://');
  });

  it('/livez distinguishes a live node from a ready one', async () => {
    expect((await api.call('GET', '/readyz')).status).toBe(200);
    api.node.isReady = false;
    expect((await api.call('GET', '/readyz')).json()).toMatchObject({ code: 'NOT_READY', status: 503 });
    expect((await api.call('GET', '/livez')).status).toBe(200);
  });

  it('a node is not ready while its disk is being verified, and reports that', async () => {
    api.node.isReady = false;
    api.node.verificationStatus = { state: 'verifying', missing: ['oregon-1'], timedOut: false };
    const answer = await put(api);
    expect(answer.json()).toMatchObject({ code: 'NOT_READY', detail: expect.stringContaining('verifying its disk') });
    const status = (await api.call('GET', '/v1/cluster')).json();
    expect(status).toMatchObject({ node: { verification: { state: 'verifying', missing: ['oregon-1'] } } });
  });

  it("a refused method is answered with the route's methods in Allow", async () => {
    const answer = await api.call('POST', '/v1/keyspaces/default/keys/a');
    expect(answer.status).toBe(405);
    expect(String(answer.headers.allow).split(', ').sort()).toEqual(['DELETE', 'GET', 'HEAD', 'PATCH', 'PUT']);
  });
});

describe('API keys', () => {
  const key = 'correct horse battery staple'.replaceAll(' ', '-');
  const principal = `key:${createHash('sha256').update(key).digest('hex').slice(0, 8)}`;
  beforeEach(async () => {
    api = await startApi({ apiKeys: ['another', key] });
  });

  it('API keys are required on every route under /v1, and identify the writer', async () => {
    for (const authorization of ['', 'Bearer wrong', `Basic ${key}`, key]) {
      const answer = await put(api, { authorization });
      expect(answer.json()).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 });
    }
    expect((await api.call('GET', '/v1/clock')).status).toBe(401);
    expect((await api.call('GET', '/livez')).status).toBe(200);
    expect((await put(api, { authorization: `Bearer ${key}` })).status).toBe(200);
    expect(api.node.calls).toMatchObject([{ request: { type: 'CommitReq', principal } }]);
  });

  it('an API key goes into the first frame of a session', async () => {
    const client = await SessionClient.open(api.url);
    expect(await client.hello({ credentials: 'wrong' })).toMatchObject({ type: 'error', code: 'UNAUTHENTICATED' });
    expect(await client.closed).toBe(4401);
    const known = await SessionClient.open(api.url);
    expect(await known.hello({ credentials: key })).toMatchObject({ type: 'welcome' });
    known.close();
  });
});

describe('a node under pressure', () => {
  it('a node under pressure refuses requests with OVERLOADED, and still reports that it is alive', async () => {
    // The event loop is sampled once a second, and no sample is below the timer's own resolution.
    api = await startApi({ limits: { eventLoopDelayMs: 0.001 } });
    let answer = await api.call('GET', '/v1/clock');
    while (answer.status === 200) answer = await api.call('GET', '/v1/clock');
    expect(answer.json()).toMatchObject({ code: 'OVERLOADED', status: 503, retryable: true });
    expect(answer.headers['retry-after']).toBe('1');
    expect((await api.call('GET', '/livez')).status).toBe(200);
  });
});

describe('OpenAPI', () => {
  beforeEach(async () => {
    api = await startApi();
  });

  it('the OpenAPI document describes the parameters and problems of every route', async () => {
    const document = (await api.call('GET', '/openapi.json')).json() as {
      openapi: string;
      paths: Record<
        string,
        Record<string, { parameters: { name: string }[]; responses: Record<string, { content?: object }> }>
      >;
    };
    expect(document.openapi).toBe('3.1.0');
    for (const [path, methods] of Object.entries(document.paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      for (const operation of Object.values(methods)) {
        expect(operation.responses['4XX']?.content).toHaveProperty(['application/problem+json']);
        expect((operation.parameters ?? []).map(({ name }) => name)).toEqual(expect.arrayContaining(named));
      }
    }
  });
});

describe('metrics', () => {
  it('the metrics show durations by route, staleness and the node’s counters', async () => {
    const latency = new HttpLatency();
    api = await startApi({ latency });
    await put(api);
    await api.call('GET', '/v1/keyspaces/default/keys/none');
    await api.call('POST', '/v1/read', { body: { keys: [{ keyspace: 'default', key: 'a' }] } });
    api.node.shownUst = packWall(api.node.now() - 20);
    api.node.verificationStatus = { state: 'unverified', missing: ['oregon-1'], timedOut: true };
    const metrics = buildMetrics(api.node, { latency });
    const url = await metrics.listen({ port: 0, host: '127.0.0.1' });
    const { text } = await send(url, 'GET', '/metrics');
    await metrics.close();
    const series = 'method="GET",route="/v1/keyspaces/:keyspace/keys/:key",status="4xx"';
    expect(text).toContain(`isochron_http_request_duration_seconds_count{${series}} 1`);
    expect(text).toContain('_count{method="POST",route="/v1/read",status="2xx"} 1');
    expect(text).toContain(`isochron_http_request_duration_seconds_bucket{${series},le="+Inf"} 1`);
    expect(text).toMatch(/isochron_ust_staleness_seconds\{[^}]*node="virginia-1"[^}]*\} 0\.02/);
    expect(text).toMatch(/isochron_disk_verified\{[^}]*\} 0/);
    expect(text).toMatch(/isochron_disk_verify_timed_out\{[^}]*\} 1/);
    expect(text).toMatch(/isochron_events_total\{event="commits"[^}]*\} 1/);
    expect(text).toContain('process_resident_memory_bytes');
  });

  it('the metrics show how often changed files of credentials and of rules were taken, and refused', async () => {
    api = await startApi();
    const files = {
      credentials: { counts: { reloads: 3, failures: 1 } },
      rules: { counts: { rules: 7, reloads: 2, failures: 4, refusals: 5, faults: 6 } },
    };
    const metrics = buildMetrics(api.node, { files });
    const url = await metrics.listen({ port: 0, host: '127.0.0.1' });
    const { text } = await send(url, 'GET', '/metrics');
    await metrics.close();
    const seriesOf = (name: string) => Number(new RegExp(`^${name}\\{[^}]*\\} (\\d+)$`, 'm').exec(text)?.[1]);
    expect(['reloads', 'failures'].map((what) => seriesOf(`isochron_credentials_file_${what}_total`))).toEqual([3, 1]);
    expect(['reloads', 'failures'].map((what) => seriesOf(`isochron_access_rules_${what}_total`))).toEqual([2, 4]);
    expect(seriesOf('isochron_access_rules')).toBe(7);
  });
});
