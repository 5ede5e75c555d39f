import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { until } from './until.js';

jest.setTimeout(120_000);
afterEach(cleanUp);

const VICTIM = 'virginia-1';

/** Text without repetitions: LevelDB compresses others, and their bytes are in no file. */
const textOf = (i: number): string => createHash('sha256').update(`${i}`).digest('base64url');

async function writeSome(cluster: Cluster, count: number, region = 'virginia'): Promise<number> {
  let last = 0;
  for (let i = 0; i < count; i++) {
    const put = await call(cluster.endpoint(region), 'PUT', keyPath(`k${i}`), {
      body: { i, text: textOf(i) },
    });
    if (put.status !== 200) throw new Error(put.text);
    last = (put.json as { timestamp: number }).timestamp;
  }
  return last;
}

/** Waits until every region has the last writes, so that no disk alone has them. */
const stableEverywhere = (cluster: Cluster, timestamp: number): Promise<unknown> =>
  until('all of it is stable', async () => {
    const all = await Promise.all(cluster.nodes.map(({ id }) => cluster.status(id)));
    return all.every(({ node }) => node.ust >= timestamp);
  });

async function expectAllReadable(cluster: Cluster, region: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const got = await call(cluster.endpoint(region), 'GET', keyPath(`k${i}`));
    expect([i, got.status, got.json]).toMatchObject([i, 200, { i, text: textOf(i) }]);
  }
}

const keysOn = async (cluster: Cluster, id: string): Promise<Record<string, number>> =>
  Object.fromEntries((await cluster.status(id)).node.partitions.map(({ partition, keys }) => [partition, keys]));

/** Every partition that both nodes host has the same number of keys in both. */
async function expectSameKeys(cluster: Cluster, id: string): Promise<void> {
  const mine = await keysOn(cluster, id);
  for (const other of cluster.nodes.filter((node) => node.id !== id)) {
    for (const [partition, keys] of Object.entries(await keysOn(cluster, other.id))) {
      if (partition in mine) expect([partition, mine[partition]]).toEqual([partition, keys]);
    }
  }
}

const store = (cluster: Cluster): string => join(cluster.node(VICTIM).dataDir, 'store');

describe('D10: a node whose data folder is gone', () => {
  it(
    'a node whose data folder is gone fetches everything from its peers and takes part again',
    logged(async () => {
      const cluster = await Cluster.start();
      await stableEverywhere(cluster, await writeSome(cluster, 60));
      await cluster.kill(VICTIM);
      rmSync(cluster.node(VICTIM).dataDir, { recursive: true });
      await cluster.restart(VICTIM);
      await expectAllReadable(cluster, 'virginia', 60);
      await expectSameKeys(cluster, VICTIM);
      // The other replicas may end now: the node has all data.
      await stableEverywhere(cluster, await writeSome(cluster, 60));
      await cluster.kill('oregon-1');
      await expectAllReadable(cluster, 'virginia', 60);
    }),
  );

  it(
    'a node that lost the only replica of a partition stays closed and reports it, until an operator accepts the loss',
    logged(async () => {
      const cluster = await Cluster.start({ replication: 1 });
      await stableEverywhere(cluster, await writeSome(cluster, 12));
      await cluster.kill(VICTIM);
      rmSync(cluster.node(VICTIM).dataDir, { recursive: true });
      cluster.launch(VICTIM);
      await until('it names them', () => /have no copy/.test(cluster.fullLog(VICTIM)));
      expect((await call(cluster.endpoint('virginia'), 'GET', '/readyz')).status).toBe(503);
      await cluster.kill(VICTIM, 'SIGTERM');
      await cluster.restart(VICTIM, { args: ['--accept-loss'] });
      await until('it takes writes', async () => {
        const put = await call(cluster.endpoint('virginia'), 'PUT', keyPath('new'), { body: 1 });
        return put.status === 200;
      });
    }),
  );
});

describe('D10: a node with a damaged record', () => {
  it(
    'a node with a damaged record does not serve it, is rebuilt from its peers without a restart, and keeps the old data',
    logged(async () => {
      const cluster = await Cluster.start();
      await stableEverywhere(cluster, await writeSome(cluster, 40));
      await cluster.kill(VICTIM, 'SIGTERM');
      await cluster.restart(VICTIM); // LevelDB puts its journal into tables when it opens
      await cluster.kill(VICTIM, 'SIGTERM');
      const damaged = damageRecords(store(cluster));
      expect(damaged.length).toBeGreaterThan(0);
      cluster.launch(VICTIM);
      const process = cluster.process(VICTIM);
      const rebuilt = async (): Promise<boolean> => {
        for (const i of damaged) await call(cluster.endpoint('virginia'), 'GET', keyPath(`k${i}`));
        return /set aside/.test(cluster.fullLog(VICTIM));
      };
      await until('it is rebuilt', rebuilt, { timeoutMs: 60_000 });
      await cluster.ready();
      expect(process.exit).toBeUndefined();
      await expectAllReadable(cluster, 'virginia', 40);
      await expectSameKeys(cluster, VICTIM);
      expect(readdirSync(cluster.node(VICTIM).dataDir)).toContain('store.quarantined-1');
      expect(cluster.fullLog(VICTIM)).toMatch(/a record on disk is damaged|is damaged:/);
    }),
  );
});

describe('D10: durability memory', () => {
  it(
    'a node with memory durability does not use an unsynced disk after a restart of the machine',
    logged(async () => {
      const cluster = await Cluster.start({ settings: { durability: 'memory' } });
      await stableEverywhere(cluster, await writeSome(cluster, 20));
      await cluster.kill(VICTIM);
      await cluster.restart(VICTIM); // only the process was killed: no data is lost
      expect(cluster.fullLog(VICTIM)).not.toMatch(/set aside/);
      await stableEverywhere(cluster, await writeSome(cluster, 20));
      await cluster.kill(VICTIM);
      writeFileSync(join(cluster.node(VICTIM).dataDir, 'RUNNING'), 'another boot');
      await cluster.restart(VICTIM);
      expect(cluster.fullLog(VICTIM)).toMatch(/set aside/);
      await expectAllReadable(cluster, 'virginia', 20);
    }),
  );
});

describe('D11: a full disk', () => {
  it(
    'on a full disk writes are refused with STORAGE_FULL while reads go on, and are accepted again when there is room',
    logged(async () => {
      const cluster = await Cluster.start({ settings: { diskQuotaBytes: 8 * 2 ** 20 } });
      await writeSome(cluster, 12);
      const ballast = cluster.nodes.map(({ dataDir }) => join(dataDir, 'ballast'));
      for (const file of ballast) writeFileSync(file, Buffer.alloc(9 * 2 ** 20));
      const refused = await until(
        'a write is refused',
        async () => {
          const put = await call(cluster.endpoint('virginia'), 'PUT', keyPath('extra'), { body: { text: 'full' } });
          return put.status === 507 && put;
        },
        { timeoutMs: 5000 },
      );
      expect(refused.json).toMatchObject({ code: 'STORAGE_FULL' });
      await expectAllReadable(cluster, 'virginia', 12);
      for (const file of ballast) rmSync(file);
      await until('a write is taken', async () => {
        const put = await call(cluster.endpoint('virginia'), 'PUT', keyPath('extra'), { body: { text: 'again' } });
        return put.status === 200;
      });
      await cluster.stop();
    }),
  );
});

/** Flips a bit in every value that it finds in the tables. Returns the keys of the values. */
function damageRecords(folder: string): number[] {
  const found = new Set<number>();
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.ldb'))) {
    const file = join(folder, name);
    const bytes = readFileSync(file);
    for (let i = 0; i < 40; i++) {
      // Log and versions have the text.
      for (let at = bytes.indexOf(textOf(i)); at >= 0; at = bytes.indexOf(textOf(i), at)) {
        bytes[at + 2]! ^= 1;
        found.add(i);
      }
    }
    writeFileSync(file, bytes);
  }
  return [...found];
}
