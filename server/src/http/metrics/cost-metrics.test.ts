import { send, startApi, type TestApi } from '../../../testing/test-api.js';
import { TestCluster, testConfig } from '../../../testing/test-cluster.js';
import { SCOPES, TRAFFIC_KINDS } from '../../node/traffic.js';
import { buildMetrics } from './metrics.js';

describe('what a protocol costs', () => {
  const toClose: { close(): PromiseLike<unknown> }[] = [];
  let api: TestApi;
  let url: string;
  beforeEach(async () => {
    api = await startApi({ cluster: new TestCluster(testConfig('bpr')) });
    const metrics = buildMetrics(api.node);
    toClose.push(api, metrics);
    url = await metrics.listen({ port: 0, host: '127.0.0.1' });
  });
  afterEach(async () => {
    for (const part of toClose.splice(0).reverse()) await part.close();
  });

  /** Samples of the name that have all of the labels. */
  const values = async (name: string, labels: Record<string, string> = {}): Promise<number[]> => {
    const { text } = await send(url, 'GET', '/metrics');
    const all = Object.entries({ protocol: 'bpr', ...labels }).map(([label, value]) => `${label}="${value}"`);
    const lines = text
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) && all.every((own) => line.includes(own)));
    return lines.map((line) => Number(line.split(' ').at(-1)));
  };

  it('the metrics of a protocol count reads and writes that waited, and how long in all and at most', async () => {
    api.node.blockedReads = { count: 3, totalMs: 40, longestMs: 25 };
    api.node.blockedWrites = { count: 2, totalMs: 9, longestMs: 6 };
    expect(await values('isochron_blocked_reads_total')).toEqual([3]);
    expect(await values('isochron_blocked_read_seconds_total')).toEqual([0.04]);
    expect(await values('isochron_blocked_read_longest_seconds')).toEqual([0.025]);
    expect(await values('isochron_blocked_writes_total')).toEqual([2]);
    expect(await values('isochron_blocked_write_seconds_total')).toEqual([0.009]);
    expect(await values('isochron_blocked_write_longest_seconds')).toEqual([0.006]);
    const blocking = { reads: 3, totalMs: 40, longestMs: 25 };
    expect((await api.call('GET', '/v1/cluster')).json()).toMatchObject({ node: { blocking } });
  });

  it('the metrics of a protocol have bytes and messages, of every kind in every scope from the start', async () => {
    const all = TRAFFIC_KINDS.length * SCOPES.length;
    expect(await values('isochron_sent_bytes_total')).toEqual(new Array(all).fill(0));
    api.node.sent = { messages: 4, bytes: 500 };
    expect(await values('isochron_sent_bytes_total', { kind: 'stabilization', scope: 'wan' })).toEqual([500]);
    expect(await values('isochron_sent_messages_total', { kind: 'operations', scope: 'region' })).toEqual([4]);
  });

  it('the metrics of a protocol have the updates sent to other regions, and the metadata in them', async () => {
    api.node.replicatedUpdates = 7;
    api.node.metadataBytes = 63;
    expect(await values('isochron_replicated_updates_total')).toEqual([7]);
    expect(await values('isochron_metadata_bytes_total')).toEqual([63]);
  });

  it('the metrics of a protocol have the time until updates are visible, by source region', async () => {
    for (const ms of [30, 30, 700]) api.node.visible('oregon', ms);
    api.node.visible('ireland', 3);
    expect(await values('isochron_visibility_seconds_count', { source: 'oregon' })).toEqual([3]);
    expect(await values('isochron_visibility_seconds_sum', { source: 'oregon' })).toEqual([0.76]);
    expect(await values('isochron_visibility_seconds_bucket', { source: 'oregon', le: '0.04' })).toEqual([2]);
    expect(await values('isochron_visibility_seconds_count', { source: 'ireland' })).toEqual([1]);
  });
});
