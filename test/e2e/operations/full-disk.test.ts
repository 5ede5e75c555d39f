import { connect, type IsochronClient } from '@isochron/sdk';
import { Cluster, type ClusterOptions, cleanUp, logged } from '../harness.js';
import { type Answer, call, keyPath } from '../http.js';
import { canMount, SmallDisk, unmountAll } from '../small-disk.js';
import { until } from '../until.js';

jest.setTimeout(180_000);
afterEach(async () => {
  unmountAll();
  await cleanUp();
});

const MIB = 2 ** 20;
const VICTIM = 'oregon-1';
const KEYS = Array.from({ length: 24 }, (_, i) => `key/${i}`);

/** A cluster with the data of one node on a small disk. */
async function start(bytes: number, options: ClusterOptions): Promise<{ cluster: Cluster; disk: SmallDisk }> {
  const cluster = await Cluster.prepare(options);
  const disk = new SmallDisk(cluster.node(VICTIM).dataDir, bytes);
  for (const { id } of cluster.nodes) cluster.launch(id);
  await cluster.ready();
  return { cluster, disk };
}

/** Writes every key at a node, and waits until all nodes serve the writes. */
async function writeAll(client: IsochronClient, value: string): Promise<void> {
  const receipt = await client.transaction((tx) => {
    for (const key of KEYS) tx.set(key, value);
  });
  await receipt.write!.stable();
}

/** A node's answers to a read of each key. */
const readAll = (api: string): Promise<Answer[]> => Promise.all(KEYS.map((key) => call(api, 'GET', keyPath(key))));

const metricOf = async (cluster: Cluster, name: string): Promise<number> => {
  const { text } = await call(cluster.node(VICTIM).metrics, 'GET', '/metrics');
  return Number(new RegExp(`^${name}(?:\\{.*\\})? (.*)$`, 'm').exec(text)?.[1]);
};

const put = (api: string, key: string, value: unknown) => call(api, 'PUT', keyPath(key), { body: { value } });

/** Writes keys in order until a write is refused. Resolves with the acknowledged keys and the refusal. */
async function writeUntilRefused(api: string, prefix: string): Promise<{ keys: readonly string[]; refusal: unknown }> {
  const keys: string[] = [];
  for (;;) {
    const key = `${prefix}/${keys.length}`;
    const answer = await put(api, key, key);
    if (answer.status !== 200) return { keys, refusal: answer.json };
    keys.push(key);
  }
}

describe('a disk that is really full', () => {
  (canMount ? it : it.skip)(
    'a full disk ends no node: writes are refused with STORAGE_FULL, reads and stable time go on, and writes return with room',
    logged(async () => {
      const settings = { minFreeDiskBytes: 16 * MIB };
      const { cluster, disk } = await start(96 * MIB, { replication: 3, settings });
      const { api } = cluster.node(VICTIM);
      const client = await connect({ endpoints: [cluster.endpoint('virginia')] });
      await writeAll(client, 'before');
      const process = cluster.process(VICTIM);
      await until(
        'the node has a reserve',
        async () => (await metricOf(cluster, 'isochron_disk_free_bytes')) < 80 * MIB,
      );

      const writers = [0, 1, 2, 3].map((writer) => writeUntilRefused(api, `writer/${writer}`));
      expect(disk.fill()).toBeGreaterThan(8 * MIB);
      const written = await Promise.all(writers);
      for (const { refusal } of written) {
        expect(refusal).toMatchObject({
          status: 507,
          code: 'STORAGE_FULL',
          retryable: true,
          detail: `The disk of ${VICTIM} is full; nothing was written. Make room there, or raise its quota: it takes writes again by itself.`,
        });
      }
      await until('the disk was full to the last byte', () => cluster.log(VICTIM).includes('the reserve is given up'));
      // Reads go on, and so do the other nodes: their writes become stable everywhere, also on the full disk.
      await client.set('written-elsewhere', 1).then((receipt) => receipt.stable());
      expect((await readAll(api)).map(({ text }) => text)).toEqual(KEYS.map(() => '"before"'));
      expect((await call(api, 'GET', keyPath('written-elsewhere'))).text).toBe('1');
      expect((await put(api, 'extra', 1)).status).toBe(507);
      const ready = await call(api, 'GET', '/readyz');
      expect([ready.status, (ready.json as { detail: string }).detail]).toEqual([
        503,
        expect.stringContaining('without room on its disk'),
      ]);
      await until('the metrics show it', async () => (await metricOf(cluster, 'isochron_disk_free_bytes')) < 32 * MIB);
      expect(await metricOf(cluster, 'isochron_disk_used_bytes')).toBeGreaterThan(0);
      expect(await metricOf(cluster, 'isochron_disk_quota_bytes')).toBe(0);
      expect(await metricOf(cluster, 'isochron_disk_full')).toBe(1);
      expect(await metricOf(cluster, 'isochron_disk_refused_writes_total')).toBeGreaterThanOrEqual(2);

      disk.free();
      await until('a write is taken', async () => (await put(api, 'extra', 2)).status === 200);
      await until('it is ready', async () => (await call(api, 'GET', '/readyz')).status === 200);
      expect(await metricOf(cluster, 'isochron_disk_full')).toBe(0);
      // The same process, with all acknowledged writes on its disk.
      expect([cluster.process(VICTIM), process.exit]).toEqual([process, undefined]);
      await cluster.kill(VICTIM, 'SIGKILL');
      await cluster.restart(VICTIM);
      await until(
        'it has all acknowledged writes',
        async () => (await call(api, 'GET', keyPath('extra'))).text === '{"value":2}',
      );
      for (const key of written.flatMap(({ keys }) => keys))
        expect((await call(api, 'GET', keyPath(key))).text).toBe(JSON.stringify({ value: key }));
      await client.close();
      await cluster.stop();
    }),
  );

  (canMount ? it : it.skip)(
    'a full disk without a reserve leaves a node that only serves reads, while the others write, and that recovers by itself',
    logged(async () => {
      const settings = { minFreeDiskBytes: 16 * MIB };
      const { cluster, disk } = await start(24 * MIB, { replication: 3, settings });
      const { api } = cluster.node(VICTIM);
      const client = await connect({ endpoints: [cluster.endpoint('virginia')] });
      await writeAll(client, 'before');
      const process = cluster.process(VICTIM);
      disk.fill();
      await until('it has cut itself off', () => cluster.log(VICTIM).includes('the node cuts itself off'));
      const refused = await put(api, 'extra', 1);
      expect(refused).toMatchObject({ status: 503, json: { code: 'NOT_READY', retryable: true } });
      expect((refused.json as { detail: string }).detail).toContain(
        `The disk of ${VICTIM} is full; nothing was written.`,
      );
      expect((await readAll(api)).map(({ text }) => text)).toEqual(KEYS.map(() => '"before"'));
      expect((await call(api, 'GET', '/v1/keyspaces/default/keys?limit=100')).json).toMatchObject({
        entries: { length: KEYS.length },
      });
      // A client of the full node writes elsewhere; clients of other nodes write on.
      const there = await connect({ endpoints: [api, cluster.endpoint('ireland')] });
      await there.set('from-the-full-node', 1);
      await client.set('from-another', 1);
      expect(await metricOf(cluster, 'isochron_ready')).toBe(0);
      expect(await metricOf(cluster, 'isochron_disk_refused_writes_total')).toBeGreaterThanOrEqual(1);

      disk.free();
      await until('it is ready', async () => (await call(api, 'GET', '/readyz')).status === 200, { timeoutMs: 40_000 });
      await until('a write is taken', async () => (await put(api, 'extra', 2)).status === 200);
      await until('it has what was written meanwhile', async () => {
        const [one, other] = await Promise.all(
          ['from-the-full-node', 'from-another'].map((key) => call(api, 'GET', keyPath(key))),
        );
        return one!.text === '1' && other!.text === '1';
      });
      expect([cluster.process(VICTIM), process.exit]).toEqual([process, undefined]);
      await there.close();
      await client.close();
      await cluster.stop();
    }),
  );

  (canMount ? it : it.skip)(
    'all acknowledged writes are on a full disk after kill -9',
    logged(async () => {
      const settings = { minFreeDiskBytes: 0, commitTimeoutMs: 1000 };
      const { cluster, disk } = await start(12 * MIB, { regions: ['oregon'], settings });
      const { api } = cluster.node(VICTIM);
      const writers = [0, 1, 2, 3, 4, 5, 6, 7].map((writer) => writeUntilRefused(api, `writer/${writer}`));
      await until('some are written', async () => (await call(api, 'GET', keyPath('writer/7/9'))).status === 200);
      disk.fill();
      const keys = (await Promise.all(writers)).flatMap((written) => written.keys);
      expect(keys.length).toBeGreaterThan(80);
      expect(cluster.log(VICTIM)).toContain('the node cuts itself off');
      await cluster.kill(VICTIM, 'SIGKILL');
      disk.free();
      await cluster.restart(VICTIM);
      await until('they are there', async () => {
        const answers = await Promise.all(keys.slice(-8).map((key) => call(api, 'GET', keyPath(key))));
        return answers.every(({ status }) => status === 200);
      });
      const read = await Promise.all(keys.map(async (key) => (await call(api, 'GET', keyPath(key))).text));
      expect(read).toEqual(keys.map((key) => JSON.stringify({ value: key })));
      await cluster.stop();
    }),
  );
});
