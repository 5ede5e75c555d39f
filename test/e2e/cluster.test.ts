import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TransactionMessage, transactionSchema } from '@isochron/protocols';
import { parseClusterFile, writeClusterFile } from '@isochron/server';
import { parsePeerUrl, WebSocketTransport } from '@isochron/transport';
import { FrameCodec, PROTOCOL_VERSION } from '@isochron/wire';
import { Cluster, cleanUp, logged } from './harness.js';
import { type Answer, call, keyPath } from './http.js';
import { isochron } from './processes.js';
import { until } from './until.js';

jest.setTimeout(90_000);

/** Commits a document per key in one transaction, and returns its timestamp. */
async function commit(api: string, documents: Readonly<Record<string, unknown>>): Promise<number> {
  const writes = Object.entries(documents).map(([key, value]) => ({ keyspace: 'default', key, value }));
  const answer = await call(api, 'POST', '/v1/commit', { body: { writes } });
  expect(answer).toMatchObject({ status: 200, json: { timestamp: expect.any(Number) } });
  return (answer.json as { timestamp: number }).timestamp;
}

/** Documents of one snapshot. */
async function readAt(api: string, keys: readonly string[], at: number): Promise<unknown[]> {
  const body = { keys: keys.map((key) => ({ keyspace: 'default', key })), at };
  const answer = await call(api, 'POST', '/v1/read', { body });
  expect(answer).toMatchObject({ status: 200, json: { snapshot: at } });
  return (answer.json as { values: ({ value: unknown } | null)[] }).values.map((entry) => entry?.value);
}

const stable = async (api: string, ts: number): Promise<void> => {
  const answer = await call(api, 'GET', `/v1/stable?ts=${ts}&timeout=20000`);
  expect(answer.status).toBe(200);
};

/** Enough keys that every partition has some. */
const KEYS = Array.from({ length: 30 }, (_, i) => `place/${i}`);
const documents = (mark: string) => Object.fromEntries(KEYS.map((key, i) => [key, { mark, i }]));

/** Reads the keys at one timestamp from every node. */
async function expectEverywhere(cluster: Cluster, mark: string, ts: number): Promise<void> {
  for (const api of cluster.endpoints()) {
    await stable(api, ts);
    expect(await readAt(api, KEYS, ts)).toEqual(Object.values(documents(mark)));
  }
}

describe('a cluster of three regions', () => {
  afterEach(cleanUp);

  it(
    'every region reads the writes of one region in one snapshot',
    logged(async () => {
      const cluster = await Cluster.start();
      const first = await commit(cluster.endpoint('virginia'), documents('first'));
      const second = await commit(cluster.endpoint('ireland'), documents('second'));
      expect(second).toBeGreaterThan(0);
      await expectEverywhere(cluster, 'first', first);
      await expectEverywhere(cluster, 'second', Math.max(first, second));
      // Each region holds four of the six partitions.
      for (const { id } of cluster.nodes) {
        const { node } = await cluster.status(id);
        expect(node.partitions).toHaveLength(4);
        expect(node.links.map(({ up }) => up)).toEqual([true, true]);
      }
    }),
  );

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'a cluster ends with exit code 0 on %s and has all data after a restart',
    (signal) =>
      logged(async () => {
        const cluster = await Cluster.prepare();
        for (const { id } of cluster.nodes) cluster.launch(id, { channel: false });
        await cluster.ready();
        await commit(cluster.endpoint('oregon'), documents('old'));
        const ts = await commit(cluster.endpoint('oregon'), documents('kept'));
        // Not waited for: the last acknowledged write must be there, too.
        const exits = await Promise.all(cluster.nodes.map(({ id }) => cluster.kill(id, signal)));
        expect(exits).toEqual(cluster.nodes.map(() => ({ code: 0, signal: null })));
        await cluster.startAgain();
        await expectEverywhere(cluster, 'kept', ts);
        await cluster.stop();
      })(),
  );

  it(
    'all acknowledged writes survive a kill of all nodes at once',
    logged(async () => {
      const cluster = await Cluster.start();
      const ts = await commit(cluster.endpoint('virginia'), documents('kept'));
      await Promise.all(cluster.nodes.map(({ id }) => cluster.kill(id, 'SIGKILL')));
      await cluster.startAgain();
      await expectEverywhere(cluster, 'kept', ts);
    }),
  );

  it(
    'each node serves its metrics on a separate port',
    logged(async () => {
      const cluster = await Cluster.start({ regions: ['virginia'] });
      const { metrics, api } = cluster.nodes[0]!;
      await call(api, 'GET', '/v1/clock');
      const answer = await call(metrics, 'GET', '/metrics');
      expect(answer.status).toBe(200);
      expect(answer.text).toMatch(/^isochron_\w+/m);
      expect((await call(api, 'GET', '/metrics')).status).toBe(404);
    }),
  );
});

describe('three regions of two nodes', () => {
  let cluster: Cluster;
  const texts = (answer: Answer) => (answer.json as { values: ({ value: unknown } | null)[] }).values;

  beforeAll(async () => {
    cluster = await Cluster.start({ nodesPerRegion: 2 });
  });
  afterAll(cleanUp);

  it(
    'two nodes of a region share its partitions, and either coordinates',
    logged(async () => {
      for (const region of ['virginia', 'oregon', 'ireland']) {
        const held = await Promise.all(
          cluster.nodes.filter((node) => node.region === region).map(({ id }) => cluster.status(id)),
        );
        const partitions = held.map(({ node }) => node.partitions.map(({ partition }) => partition));
        expect(partitions.flat()).toHaveLength(4);
        expect(new Set(partitions.flat()).size).toBe(4);
        expect(partitions.every((names) => names.length > 0)).toBe(true);
      }
      let ts = 0;
      for (const { id, api } of cluster.nodes) {
        const before = ts;
        ts = await commit(api, documents(id));
        await stable(api, ts);
        expect(ts).toBeGreaterThan(before);
      }
      await expectEverywhere(cluster, cluster.nodes.at(-1)!.id, ts);
    }),
  );

  it(
    'an interactive transaction continues on the other node of its region',
    logged(async () => {
      const [one, other] = cluster.endpoints('oregon');
      await stable(one!, await commit(one!, documents('before')));
      const opened = await call(one!, 'POST', '/v1/transactions');
      expect(opened.status).toBe(201);
      const { id, snapshot } = opened.json as { id: string; snapshot: number };
      // The transaction goes on in its snapshot, independent of later writes.
      await stable(other!, await commit(cluster.endpoint('virginia'), documents('meanwhile')));
      const keys = KEYS.slice(0, 6).map((key) => ({ keyspace: 'default', key }));
      for (const api of [other!, one!]) {
        const read = await call(api, 'POST', `/v1/transactions/${id}/read`, { body: { keys } });
        expect(read).toMatchObject({ status: 200, json: { snapshot } });
        expect(texts(read).map((entry) => entry?.value)).toEqual(
          KEYS.slice(0, 6).map((_, i) => ({ mark: 'before', i })),
        );
      }
      const writes = [{ keyspace: 'default', key: 'moved', value: 'by the other node' }];
      const committed = await call(other!, 'POST', `/v1/transactions/${id}/commit`, { body: { writes } });
      expect(committed.status).toBe(200);
      const { timestamp } = committed.json as { timestamp: number };
      expect(await call(one!, 'GET', `/v1/transactions/${id}`)).toMatchObject({
        status: 200,
        json: { status: 'committed', timestamp },
      });
      await stable(one!, timestamp);
      expect(await readAt(one!, ['moved'], timestamp)).toEqual(['by the other node']);
      // The other regions pass requests on, too: the transaction has ended.
      const elsewhere = await call(cluster.endpoint('ireland'), 'POST', `/v1/transactions/${id}/read`, {
        body: { keys },
      });
      expect(elsewhere).toMatchObject({ status: 409, json: { code: 'TRANSACTION_FINISHED' } });
    }),
  );

  it(
    'a session reads its own writes on either node of the region, and in another region',
    logged(async () => {
      const [one, other] = cluster.endpoints('virginia');
      for (let i = 0; i < 20; i++) {
        const put = await call(one!, 'PUT', keyPath(`own/${i}`), { body: { i } });
        const token = String(put.headers['isochron-session']);
        for (const api of [other!, cluster.endpoint('ireland')]) {
          const headers = { 'isochron-session': token, prefer: 'wait=20' };
          expect(await call(api, 'GET', keyPath(`own/${i}`), { headers })).toMatchObject({ status: 200, json: { i } });
        }
      }
    }),
  );
});

describe('a node', () => {
  afterEach(cleanUp);

  it(
    'a node refuses a cluster file that moves a partition over its data',
    logged(async () => {
      const cluster = await Cluster.start({ cluster: 'moving' });
      await commit(cluster.endpoint('virginia'), documents('here'));
      await cluster.stop();
      const moved = join(cluster.folder, 'moved.yaml');
      const keyspaces = [{ name: 'default', partitions: 6, regions: ['oregon', 'ireland'] }];
      writeFileSync(moved, writeClusterFile({ ...cluster.file, keyspaces }));
      const args = ['--config', moved, '--node', 'virginia-1', '--secret-file', cluster.secretFile];
      const result = await isochron(['node', ...args, '--data', cluster.node('virginia-1').dataDir]);
      expect(result.code).toBe(1);
      expect(result.stderr).toMatch(/^error: PLACEMENT_MISMATCH: .*moves partition default\/\d.*\n$/m);
      // Under its own file it starts as before.
      await cluster.startAgain();
    }),
  );

  it(
    'a node keeps its links down, and reports why, to peers with another secret, cluster file or version',
    logged(async () => {
      const cluster = await Cluster.prepare({ regions: ['ireland', 'oregon', 'sydney', 'virginia'] });
      const secretFile = join(cluster.folder, 'other-secret');
      writeFileSync(secretFile, 'not the secret of this cluster', { mode: 0o600 });
      const configFile = join(cluster.folder, 'other.yaml');
      writeFileSync(configFile, writeClusterFile({ ...cluster.file, settings: { outcomeRetentionMs: 31_000 } }));
      // The node with the lower id dials: ireland-1 dials oregon-1, and oregon-1 the other two.
      const impostor = await otherVersion(cluster, 'sydney-1');
      try {
        cluster.launch('oregon-1');
        cluster.launch('ireland-1', { secretFile });
        cluster.launch('virginia-1', { configFile });
        let seen = '';
        const links = await until(
          'the nodes report why no link is up',
          async () => {
            const { node } = await cluster.status('oregon-1');
            const stranger = (await cluster.status('ireland-1')).node;
            // Without the secret ireland-1 cannot prove its identity: only ireland-1 reports the refusal.
            const all = [...stranger.links.slice(0, 1), ...node.links.slice(1)];
            seen = JSON.stringify(all, null, 2);
            return all.every(({ lastError }) => lastError?.startsWith('PEER_')) && all;
          },
          { explain: () => seen },
        );
        expect(
          links.map(({ node, up, reconnects, lastError }) => [node, up, reconnects, lastError?.split(':')[0]]),
        ).toEqual([
          ['oregon-1', false, 0, 'PEER_REFUSED'],
          ['sydney-1', false, 0, 'PEER_VERSION_MISMATCH'],
          ['virginia-1', false, 0, 'PEER_CONFIG_MISMATCH'],
        ]);
        expect(impostor.links().map(({ up }) => up)).toEqual([false, false, false]);
        // Without the other regions there is no stable time, and the node reports that it is not ready.
        expect(await call(cluster.endpoint('oregon'), 'GET', '/readyz')).toMatchObject({
          status: 503,
          json: { code: 'NOT_READY' },
        });
      } finally {
        await impostor.close();
      }
    }),
  );
});

/** A node of the cluster that uses the next version of the peering protocol. */
function otherVersion(cluster: Cluster, id: string): Promise<WebSocketTransport<TransactionMessage>> {
  const config = parseClusterFile(readFileSync(cluster.configFile, 'utf8'), cluster.configFile);
  return WebSocketTransport.open<TransactionMessage>({
    self: id,
    peers: cluster.nodes.filter((node) => node.id !== id).map((node) => ({ node: node.id, url: node.peer })),
    listen: parsePeerUrl(cluster.node(id).peer),
    secret: readFileSync(cluster.secretFile, 'utf8'),
    clusterHash: config.hash,
    storeId: 'any',
    version: PROTOCOL_VERSION + 1,
    codec: new FrameCodec(transactionSchema),
    hlc: () => 0,
    events: { frame: () => undefined, link: () => undefined },
  });
}
