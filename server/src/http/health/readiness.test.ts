import { SessionClient } from '../../../testing/session-client.js';
import { send, startApi, type TestApi } from '../../../testing/test-api.js';
import type { LinkSummary } from '../../node/api.js';
import { buildMetrics } from '../metrics/metrics.js';
import { READINESS_CHECKS } from './readiness.js';

describe('readiness', () => {
  let api: TestApi;
  let metrics: ReturnType<typeof buildMetrics>;
  let metricsUrl: string;
  beforeEach(async () => {
    api = await startApi();
    metrics = buildMetrics(api.node, { serving: api.serving });
    metricsUrl = await metrics.listen({ port: 0, host: '127.0.0.1' });
  });
  afterEach(async () => {
    await metrics.close();
    await api.close();
  });

  const link = (node: string, up: boolean): LinkSummary => ({
    node,
    region: node.replace(/-\d$/, ''),
    up,
    rttMs: null,
    reconnects: 0,
    lastError: null,
  });
  const problemAt = async (path = '/readyz'): Promise<string | undefined> => {
    const answers = await Promise.all([api.call('GET', path), send(metricsUrl, 'GET', path)]);
    const [first, second] = answers.map((answer) => (answer.status === 200 ? undefined : answer.json()));
    expect(second).toEqual(first);
    if (first !== undefined) expect(first).toMatchObject({ status: 503, code: 'NOT_READY' });
    return first?.detail as string | undefined;
  };
  const failingInMetrics = async (): Promise<(string | undefined)[]> => {
    const { text } = await send(metricsUrl, 'GET', '/metrics');
    const lines = text.match(/^isochron_unready\{.*\} 1$/gm) ?? [];
    const ready = /^isochron_ready\{.*\} (\d)$/m.exec(text)![1];
    expect(ready).toBe(lines.length === 0 ? '1' : '0');
    return lines.map((line) => /check="([a-z-]+)"/.exec(line)?.[1]);
  };

  /** Each breaks one check, which is reported in these words. */
  const CASES: readonly (readonly [(typeof READINESS_CHECKS)[number], RegExp, (api: TestApi) => void])[] = [
    [
      'cluster-file',
      /without links to oregon-1, virginia-2, as its cluster file differs/,
      ({ node }) => {
        node.peers = [link('oregon-1', false), link('virginia-2', false), link('ireland-1', true)];
        node.differsFrom = ['oregon-1', 'virginia-2'];
      },
    ],
    [
      'links',
      /linked to no other node/,
      ({ node }) => (node.peers = [link('oregon-1', false), link('virginia-2', false)]),
    ],
    ['stable-time', /stable time stands still, snapshots are 34.0 s old/, ({ node }) => node.cluster.pass(33_980)],
    ['disk', /without room on its disk/, ({ node }) => (node.disk = { ...node.disk, full: true })],
    ['connections', /near its limit/, ({ serving }) => (serving.crowding = () => 'near its limit of 10 connections')],
  ];

  it('a node without access rules where a peer has some is not ready, and refuses every request of data', async () => {
    expect((await api.call('PUT', '/v1/keyspaces/default/keys/x', { body: 1 })).status).toBe(200);
    const session = await SessionClient.open(api.url);
    await session.hello();
    api.node.protection.meets('oregon-1', { rules: 'x', users: null });
    const reason = 'The node is without access rules, which oregon-1 has: start it with --rules';
    expect(await problemAt('/readyz?exclude=links,stable-time')).toBe(`${reason}. Send requests to another node.`);
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect(
        (await api.call(method, '/v1/keyspaces/default/keys/x', method === 'PUT' ? { body: 1 } : {})).json(),
      ).toMatchObject({
        status: 503,
        code: 'NOT_READY',
        detail: `${reason}. Repeat the request, or ask another node.`,
      });
    await session.closed;
    const { text } = await send(metricsUrl, 'GET', '/metrics');
    for (const line of ['isochron_rules_missing{', 'isochron_rules_differ{', 'isochron_users_missing{'])
      expect(text).toMatch(new RegExp(`^${line}.*\\} ${line.startsWith('isochron_users') ? 0 : 1}$`, 'm'));
    const status = (await api.call('GET', '/v1/cluster')).json();
    const rules = { hash: null, differsFrom: ['oregon-1'], missing: true };
    expect(status).toMatchObject({ node: { protection: { rules } } });
  });

  it('each check of readiness has a case', () => {
    expect(CASES.map(([check]) => check)).toEqual(READINESS_CHECKS);
  });

  it.each(CASES)(
    'readiness is refused for %s, with the reason, in answer, status and metrics',
    async (check, reason, spoil) => {
      expect([await problemAt(), await failingInMetrics()]).toEqual([undefined, []]);
      spoil(api);
      expect(await problemAt()).toMatch(reason);
      expect(await failingInMetrics()).toEqual([check]);
      const { unready } = (await api.call('GET', '/v1/cluster')).json();
      expect(unready).toEqual([{ check, reason: expect.stringMatching(reason) }]);
      const others = READINESS_CHECKS.filter((other) => other !== check).join(',');
      expect(await problemAt(`/readyz?exclude=${others}`)).toMatch(reason);
      expect(await problemAt(`/readyz?exclude=${check}`)).toBeUndefined();
      // The node serves requests: in a cluster with a region that is down, all nodes are in this state.
      expect((await api.call('GET', '/v1/keyspaces/default/keys/none')).status).toBe(404);
    },
  );

  it('a node that refuses one peer for its cluster file, and is linked with the others, is ready', async () => {
    api.node.peers = [link('oregon-1', false), link('virginia-2', true)];
    api.node.differsFrom = ['oregon-1'];
    expect(await problemAt()).toBeUndefined();
    const { text } = await send(metricsUrl, 'GET', '/metrics');
    expect(text).toMatch(/^isochron_cluster_file_differs\{.*\} 1$/m);
  });

  it('the answer of a node that is not ready names every reason, also before the node serves', async () => {
    api.node.isReady = false;
    api.node.peers = [link('oregon-1', false)];
    expect(await problemAt()).toMatch(/^The node is starting; linked to no other node\./);
    expect(await problemAt('/readyz?exclude=links')).toMatch(/^The node is starting\./);
  });

  it('readiness refuses to leave out an unknown check', async () => {
    expect((await api.call('GET', '/readyz?exclude=weather')).json()).toMatchObject({ code: 'INVALID_REQUEST' });
  });
});
