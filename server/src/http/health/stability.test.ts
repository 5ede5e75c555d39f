import { packWall } from '@isochron/core';
import { SessionClient } from '../../../testing/session-client.js';
import { send, startApi, type TestApi } from '../../../testing/test-api.js';
import { TestNode } from '../../../testing/test-node.js';
import type { PartitionStatus } from '../../node/api.js';
import { buildMetrics } from '../metrics/metrics.js';
import { StabilityMonitor, stabilityOf } from './stability.js';

const ALERT_MS = 10_000;

/** A replica whose entry for each region has this age, in ms. */
const replica = (node: TestNode, partition: string, agesMs: Record<string, number>): PartitionStatus => ({
  partition,
  regions: Object.keys(agesMs),
  versionVector: Object.fromEntries(
    Object.entries(agesMs).map(([region, ageMs]) => [region, packWall(node.now() - ageMs)]),
  ),
  prepared: 0,
  committed: 0,
  keys: 0,
  versions: 0,
});

const link = (node: string, region: string, up: boolean) => ({
  node,
  region,
  up,
  rttMs: null,
  reconnects: 0,
  lastError: null,
});

/** A node of virginia that has received no writes from oregon for this time. */
function withoutOregon(ageMs: number, node = new TestNode()): TestNode {
  node.shownUst = packWall(node.now() - ageMs);
  node.replicas = [
    replica(node, 'default/0', { virginia: 5, oregon: ageMs - 3 }),
    replica(node, 'default/2', { virginia: 5, oregon: ageMs }),
  ];
  return node;
}

describe('stable time', () => {
  it('stable time is fresh while its age is below the threshold of the cluster file', () => {
    const stability = stabilityOf(withoutOregon(ALERT_MS));
    expect(stability).toMatchObject({ stalenessMs: ALERT_MS, alertMs: ALERT_MS, stale: false, heldBackBy: null });
    expect(stability.lowest).toMatchObject({ region: 'oregon', node: 'oregon-1', partition: 'default/2' });
  });

  it('stable time is stale, too, where it is ahead of the clock by more than clocks may differ (K4)', () => {
    const node = new TestNode();
    node.shownUst = packWall(node.now() + node.config.settings.maxClockDriftMs - 1_000);
    expect(stabilityOf(node)).toMatchObject({ stalenessMs: 0, stale: false });
    node.shownUst = packWall(node.now() + node.config.settings.maxClockDriftMs + 1_000);
    expect(stabilityOf(node)).toMatchObject({ stalenessMs: 0, stale: true });
  });

  it('stable time is held back by the region with the lowest version vector entry, and by its node', () => {
    const node = withoutOregon(34_000);
    expect(stabilityOf(node)).toEqual({
      ust: node.ust(),
      stalenessMs: 34_000,
      alertMs: ALERT_MS,
      stale: true,
      lowest: {
        region: 'oregon',
        node: 'oregon-1',
        partition: 'default/2',
        timestamp: packWall(node.now() - 34_000),
        ageMs: 34_000,
      },
      heldBackBy: { region: 'oregon', node: 'oregon-1', partition: 'default/2' },
    });
  });

  it('stable time may be held back by the node itself, where a prepare is not decided', () => {
    const node = withoutOregon(34_000);
    node.replicas = [replica(node, 'default/0', { virginia: 34_000, oregon: 2 })];
    expect(stabilityOf(node).heldBackBy).toMatchObject({ region: 'virginia' });
  });

  it('stale stable time is attributed to an unreachable node where this one lacks nothing', () => {
    const node = withoutOregon(34_000);
    node.replicas = [replica(node, 'default/0', { virginia: 5, oregon: 20 })];
    node.peers = [link('virginia-2', 'virginia', true), link('oregon-1', 'oregon', false)];
    expect(stabilityOf(node).heldBackBy).toEqual({ region: 'oregon', node: 'oregon-1', partition: null });
  });

  it('stale stable time is attributed to what the reports of all nodes name, where this node lacks nothing', () => {
    const node = withoutOregon(34_000);
    node.replicas = [replica(node, 'default/0', { virginia: 5, oregon: 20 })];
    node.peers = [link('oregon-1', 'oregon', true)];
    node.heldBackBy = { region: 'ireland', node: 'ireland-1', partition: 'default/1' };
    expect(stabilityOf(node)).toMatchObject({ stale: true, heldBackBy: node.heldBackBy });
  });
});

describe('the monitor', () => {
  it('the monitor logs once that the threshold is passed, and once that stable time is fresh again', () => {
    const node = withoutOregon(20);
    const logged: string[] = [];
    const monitor = new StabilityMonitor(node, {
      warn: (fields: unknown) => logged.push(`warn ${JSON.stringify(fields)}`),
      info: () => logged.push('info'),
    });
    expect(monitor.look()).toBe(false);
    withoutOregon(34_000, node);
    expect([monitor.look(), monitor.look()]).toEqual([true, false]);
    expect(monitor.freshness).toMatchObject({ stale: true, stalenessMs: 34_000, heldBackBy: { region: 'oregon' } });
    node.shownUst = undefined;
    expect([monitor.look(), monitor.look()]).toEqual([true, false]);
    expect(logged).toEqual([expect.stringMatching(/^warn .*"region":"oregon"/), 'info']);
  });
});

describe('staleness is shown', () => {
  let api: TestApi;
  beforeEach(async () => {
    api = await startApi();
  });
  afterEach(() => api.close());

  const OREGON = { region: 'oregon', node: 'oregon-1', partition: 'default/2' };

  it('staleness is shown by /v1/cluster and /v1/clock', async () => {
    withoutOregon(34_000, api.node);
    const { stability } = (await api.call('GET', '/v1/cluster')).json();
    expect(stability).toMatchObject({ stale: true, stalenessMs: 34_000, heldBackBy: OREGON, lowest: OREGON });
    // The clock route shows the state of the last look, which is made about once a second.
    let clock = (await api.call('GET', '/v1/clock')).json();
    while (clock.stale !== true) clock = (await api.call('GET', '/v1/clock')).json();
    expect(clock).toMatchObject({ stalenessMs: 34_000, heldBackBy: OREGON });
  });

  it('staleness is shown in the metrics, for each region whose writes the node holds', async () => {
    withoutOregon(34_000, api.node);
    const metrics = buildMetrics(api.node);
    const url = await metrics.listen({ port: 0, host: '127.0.0.1' });
    const scrape = async () => (await send(url, 'GET', '/metrics')).text;
    const stale = await scrape();
    expect(stale).toMatch(/isochron_ust_stale\{[^}]*\} 1\n/);
    expect(stale).toMatch(/isochron_replication_age_seconds\{source="oregon",[^}]*\} 34\n/);
    expect(stale).toMatch(/isochron_replication_age_seconds\{source="virginia",[^}]*\} 0.005\n/);
    expect(stale).toMatch(
      /isochron_ust_held_back\{by_region="oregon",by_node="oregon-1",partition="default\/2",[^}]*\} 1\n/,
    );
    api.node.shownUst = undefined;
    const fresh = await scrape();
    await metrics.close();
    expect(fresh).toMatch(/isochron_ust_stale\{[^}]*\} 0\n/);
    expect(fresh).not.toMatch(/isochron_ust_held_back\{/);
  });

  it('staleness is shown to sessions in the welcome, and when it changes while stable time does not', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    withoutOregon(34_000, api.node);
    const frame = await client.next(({ type }) => type === 'ust');
    expect(frame).toMatchObject({ freshness: { stale: true, stalenessMs: 34_000, heldBackBy: OREGON } });
    const late = await SessionClient.open(api.url);
    expect(await late.hello()).toMatchObject({ freshness: { stale: true, heldBackBy: OREGON } });
    client.close();
    late.close();
  });
});
