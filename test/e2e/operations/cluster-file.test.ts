import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeClusterFile } from '@isochron/server';
import { Cluster, cleanUp, logged } from '../harness.js';
import { call, keyPath } from '../http.js';
import { isochron } from '../processes.js';
import { until } from '../until.js';

jest.setTimeout(120_000);
afterEach(cleanUp);

const VICTIM = 'oregon-1';
const detailOf = async (api: string): Promise<string> => {
  const { status, json } = await call(api, 'GET', '/readyz');
  return status === 200 ? 'ready' : (json as { detail: string }).detail;
};

describe('a cluster file', () => {
  it(
    'a cluster file with other agreed settings cuts its node off; its answers, status, metrics, log and commands report it',
    logged(async () => {
      const cluster = await Cluster.start();
      const other = join(cluster.folder, 'other.yaml');
      const settings = { outcomeRetentionMs: 100_000 };
      writeFileSync(other, writeClusterFile({ ...cluster.file, settings }));
      await cluster.kill(VICTIM, 'SIGTERM');
      cluster.launch(VICTIM, { configFile: other });
      const { api, metrics } = cluster.node(VICTIM);
      await until('it reports the difference', async () =>
        (await detailOf(api)).includes('without links to virginia-1, ireland-1, as its cluster file differs'),
      );
      expect((await call(metrics, 'GET', '/readyz')).status).toBe(503);
      const status = await cluster.status(VICTIM);
      expect(status).toMatchObject({ node: { clusterFile: { differsFrom: ['virginia-1', 'ireland-1'] } } });
      expect(status.hash).not.toBe((await cluster.status('ireland-1')).hash);
      const scraped = (await call(metrics, 'GET', '/metrics')).text;
      expect(scraped).toMatch(/^isochron_cluster_file_differs\{.*\} 2$/m);
      expect(scraped).toMatch(/^isochron_ready\{.*\} 0$/m);
      await until('the log reports it', () =>
        cluster.log(VICTIM).includes('no links to nodes with another cluster file'),
      );
      const shown = await isochron(['status', '--endpoint', cluster.endpoint('ireland')]);
      expect(shown.stdout).toMatch(/oregon-1 is without links to virginia-1, ireland-1, as its cluster file differs/);
      // The others report which node it is. They are ready except for the stable time, which waits for it.
      expect(await cluster.status('ireland-1')).toMatchObject({ node: { clusterFile: { differsFrom: [VICTIM] } } });
      const rest = await call(cluster.endpoint('ireland'), 'GET', '/readyz?exclude=stable-time');
      expect(rest.status).toBe(200);

      await cluster.kill(VICTIM, 'SIGTERM');
      cluster.launch(VICTIM);
      await until('all nodes are ready', async () =>
        (await Promise.all(cluster.endpoints().map(detailOf))).every((detail) => detail === 'ready'),
      );
      await cluster.stop();
    }),
  );

  it(
    'a cluster file with other limits, alerts and intervals lets its node take part',
    logged(async () => {
      const cluster = await Cluster.prepare();
      const other = join(cluster.folder, 'other.yaml');
      const settings = { stalenessAlertMs: 2000, gossipIntervalMs: 7, applyIntervalMs: 8, limits: { maxKeyBytes: 20 } };
      writeFileSync(other, writeClusterFile({ ...cluster.file, settings }));
      for (const { id } of cluster.nodes) cluster.launch(id, id === VICTIM ? { configFile: other } : {});
      await until('all nodes are ready', async () =>
        (await Promise.all(cluster.endpoints().map(detailOf))).every((detail) => detail === 'ready'),
      );
      const long = keyPath('k'.repeat(21));
      const puts = await Promise.all(cluster.endpoints().map((api) => call(api, 'PUT', long, { body: 1 })));
      expect(puts.map(({ status }) => status).sort()).toEqual([200, 200, 400]);
      await cluster.stop();
    }),
  );
});

describe('a node that nothing links to any more', () => {
  it(
    'a node without links or with a frozen stable time is not ready, and becomes ready again with its peers',
    logged(async () => {
      const cluster = await Cluster.start({ settings: { stalenessAlertMs: 1500 } });
      const api = cluster.endpoint('virginia');
      expect(await detailOf(api)).toBe('ready');
      await cluster.kill('ireland-1');
      await until('its stable time stands still', async () => {
        const detail = await detailOf(api);
        return detail.includes('waits for ireland-1') && !detail.includes('linked to no other node');
      });
      await cluster.kill(VICTIM);
      await until('it has no links', async () => (await detailOf(api)).includes('linked to no other node'));
      // It still serves its data.
      expect((await call(api, 'GET', keyPath('none'))).json).toMatchObject({
        code: expect.not.stringMatching('NOT_READY'),
      });
      for (const id of [VICTIM, 'ireland-1']) cluster.launch(id);
      await until('it is ready again', async () => (await detailOf(api)) === 'ready');
      await cluster.stop();
    }),
  );
});
