import { connect } from '@isochron/sdk';
import { PeerLinks } from '../chaos/links.js';
import { Cluster, type ClusterOptions, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { until } from './until.js';

jest.setTimeout(120_000);
const opened: PeerLinks[] = [];
afterEach(cleanUp);
afterEach(async () => {
  await Promise.all(opened.splice(0).map((links) => links.close()));
});

const WAN = { 'virginia<>oregon': 20, 'virginia<>ireland': 40, 'oregon<>ireland': 60 };
const ROUNDS = 12;

/** A cluster with a proxy between each two of its nodes. */
async function withLinks(options: ClusterOptions): Promise<{ cluster: Cluster; links: PeerLinks }> {
  const cluster = await Cluster.prepare(options);
  const links = await PeerLinks.open(new Map(cluster.nodes.map(({ id, peer }) => [id, Number(new URL(peer).port)])));
  opened.push(links);
  for (const { id } of cluster.nodes) cluster.launch(id, { args: links.dialOption(id) });
  await cluster.ready();
  return { cluster, links };
}

/** No byte that is sent to a node arrives any more; its own do, until its links give up. */
function cutInwards(links: PeerLinks, node: string): void {
  for (const pair of links.pairs) {
    if (pair[1] === node) links.proxy(pair).silence(['there']);
    else if (pair[0] === node) links.proxy(pair).silence(['back']);
  }
}

/** The values that new clients read at each of these nodes. */
const readBy = (apis: readonly string[], key: string): Promise<string[]> =>
  Promise.all(apis.map(async (api) => (await call(api, 'GET', keyPath(key))).text));

describe('stable()', () => {
  it(
    'stable() resolves when every new client of every region reads the write: over HTTP, in the SDK, at every node',
    logged(async () => {
      const cluster = await Cluster.start({ wan: WAN, nodesPerRegion: 2 });
      const endpoints = cluster.endpoints();
      const client = await connect({ endpoints: [cluster.endpoint('virginia')] });
      for (let i = 0; i < ROUNDS; i++) {
        await (await client.set('sdk', i)).stable();
        expect(await readBy(endpoints, 'sdk')).toEqual(endpoints.map(() => `${i}`));
        const { timestamp } = (await call(endpoints[1]!, 'PUT', keyPath('http'), { body: i })).json as {
          timestamp: number;
        };
        const answer = await call(endpoints[0]!, 'GET', `/v1/stable?ts=${timestamp}`);
        expect((answer.json as { ust: number }).ust).toBeGreaterThanOrEqual(timestamp);
        expect(await readBy(endpoints, 'http')).toEqual(endpoints.map(() => `${i}`));
      }
      const reader = await connect({ endpoints: [cluster.endpoint('ireland')] });
      expect(await reader.get('sdk')).toBe(ROUNDS - 1);
      await Promise.all([client.close(), reader.close()]);
      await cluster.stop();
    }),
  );

  it(
    'stable() waits for a region without a replica that is cut off inwards, and resolves afterwards',
    logged(async () => {
      const { cluster, links } = await withLinks({ wan: WAN, partitions: 1 });
      const statuses = await Promise.all(cluster.nodes.map(({ id }) => cluster.status(id)));
      const without = statuses.find(({ node }) => node.partitions.length === 0)!.node.node;
      const [near] = cluster.nodes.filter(({ id }) => id !== without);
      const far = cluster.node(without).api;
      const client = await connect({ endpoints: [near!.api] });
      await (await client.set('a', 'old')).stable();

      cutInwards(links, without);
      const write = await client.set('a', 'new');
      await until('it is stable at its own node', async () => (await readBy([near!.api], 'a'))[0] === '"new"');
      const waiting = write.stable();
      await expect(write.stable({ timeoutMs: 1_000 })).rejects.toMatchObject({ code: 'STABLE_TIMEOUT' });
      const { ust } = (await cluster.status(without)).node;
      expect(ust).toBeLessThan(write.timestamp);

      links.heal();
      await waiting;
      expect(await readBy([far], 'a')).toEqual(['"new"']);
      await client.close();
      await cluster.stop();
    }),
  );

  it(
    'stable() waits for a region that is cut off inwards; afterwards it resolves, and new clients there read the write',
    logged(async () => {
      const { cluster, links } = await withLinks({ wan: WAN });
      const client = await connect({ endpoints: [cluster.endpoint('virginia')] });
      await (await client.set('a', 'old')).stable();
      cutInwards(links, 'ireland-1');
      const write = await client.set('b', 'new');
      await expect(write.stable({ timeoutMs: 2_000 })).rejects.toMatchObject({ code: 'STABLE_TIMEOUT' });
      links.heal();
      await write.stable();
      expect(await readBy(cluster.endpoints(), 'b')).toEqual(cluster.endpoints().map(() => '"new"'));
      await client.close();
      await cluster.stop();
    }),
  );
});
