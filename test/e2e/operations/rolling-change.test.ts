import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeClusterFile } from '@isochron/server';
import { Cluster, cleanUp, logged, type StartOptions } from '../harness.js';
import { call } from '../http.js';
import { Load } from '../load.js';
import { until } from '../until.js';

jest.setTimeout(300_000);
afterEach(cleanUp);

const SEED = 20_261_123;
const [OLD, NEW] = ['the secret before the change', 'the secret after the change'] as const;

/** Restarts every node with other files, one after the other, each when the previous one is ready. */
async function roll(cluster: Cluster, load: Load, what: string, options: StartOptions): Promise<void> {
  for (const { id, api } of cluster.nodes) {
    await load.more(`while ${what} is rolled out, before ${id}`);
    expect(await cluster.kill(id, 'SIGTERM')).toEqual({ code: 0, signal: null });
    cluster.launch(id, options);
    await until(`${id} is ready`, async () => (await call(api, 'GET', '/readyz')).status === 200, {
      explain: () => cluster.log(id),
    });
  }
}

describe('six nodes under load', () => {
  it(
    'six nodes under load take another setting and then another secret, node by node, without an error in an application',
    logged(async () => {
      const cluster = await Cluster.start({ nodesPerRegion: 2, secret: OLD });
      const file = (name: string, text: string): string => {
        const path = join(cluster.folder, name);
        writeFileSync(path, text, { mode: 0o600 });
        return path;
      };
      const load = await Load.start(cluster.endpoints(), SEED);
      const settings = { stalenessAlertMs: 8_000, gossipIntervalMs: 12, limits: { maxKeysPerRequest: 900 } };
      const configFile = file('changed.yaml', writeClusterFile({ ...cluster.file, settings }));
      // The first line proves the node and signs tokens. No node may receive it before it accepts the new secret.
      const [both, turned, changed] = [[OLD, NEW], [NEW, OLD], [NEW]].map((secrets, i) =>
        file(`secret-${i}`, secrets.join('\n')),
      );
      await roll(cluster, load, 'a setting and a second secret', { configFile, secretFile: both! });
      await roll(cluster, load, 'the new secret as the first', { configFile, secretFile: turned! });
      await roll(cluster, load, 'the new secret alone', { configFile, secretFile: changed! });
      await load.more('at the end');
      await load.stop();
      for (const { id } of cluster.nodes) {
        const status = await cluster.status(id);
        expect(status).toMatchObject({ settings: { gossipIntervalMs: 12, limits: { maxKeysPerRequest: 900 } } });
        expect(status.node.links.map(({ up }) => up)).toEqual([true, true, true, true, true]);
        expect(cluster.fullLog(id)).not.toMatch(/the secret (before|after) the change/);
      }
      await cluster.stop();
    }),
  );
});
