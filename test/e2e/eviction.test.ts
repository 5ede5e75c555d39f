/** A node that is lost with its disk, and evicted: real processes. */
import { rmSync } from 'node:fs';
import { connect } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { isochron } from './processes.js';
import { until } from './until.js';

jest.setTimeout(180_000);
afterEach(cleanUp);

const settings = { suspendAfterMs: 2_000 };
const [V, O, I] = ['virginia-1', 'oregon-1', 'ireland-1'] as const;

const mapOf = async (cluster: Cluster, id: string) => (await cluster.status(id)).node.map;

/** The state of the node of Ireland, as a command at an endpoint lists it. */
async function stateOf(endpoint: string): Promise<string> {
  const { stdout } = await isochron(['nodes', '--json', '--endpoint', endpoint]);
  const { nodes } = JSON.parse(stdout) as { nodes: { node: string; state: string }[] };
  return nodes.find(({ node }) => node === I)!.state;
}

/** A write in Virginia is visible in Oregon. */
async function moves(cluster: Cluster): Promise<void> {
  const [virginia, oregon] = [cluster.endpoint('virginia'), cluster.endpoint('oregon')];
  const value = performance.now();
  const client = await connect({ endpoints: [virginia] });
  await client.set('moves', value);
  const shown = async () => Number((await call(oregon, 'GET', keyPath('moves'))).text);
  await until('the other region shows the write', async () => (await shown()) === value);
  await client.close();
}

describe('isochron nodes evict', () => {
  it(
    'a node that is lost with its disk is evicted: the others go on over restarts, and the node never runs again',
    logged(async () => {
      const cluster = await Cluster.start({ settings, replication: 3 });
      const virginia = cluster.endpoint('virginia');
      const evict = (...args: string[]) => isochron(['nodes', 'evict', I, '--endpoint', virginia, ...args]);
      expect(await evict('--yes')).toMatchObject({ code: 1, stderr: expect.stringContaining('suspend them first') });
      const client = await connect({ endpoints: [cluster.endpoint('ireland'), virginia] });
      const keys = Array.from({ length: 20 }, (_, n) => `kept ${n}`);
      for (const key of keys) await client.set(key, true);
      await (await client.set('last', true)).stable();
      await client.close();
      const kept = cluster.node(I).dataDir;
      await cluster.kill(I, 'SIGKILL');
      await until('the node is suspended', async () => (await stateOf(virginia)) === 'suspended');
      expect(await evict()).toMatchObject({ code: 2, stderr: expect.stringContaining('evicted for ever') });
      expect(await evict('--yes')).toMatchObject({ code: 0, stdout: expect.stringContaining('evicted for ever') });
      expect(await stateOf(cluster.endpoint('oregon'))).toBe('evicted');
      expect(await mapOf(cluster, O)).toMatchObject({ evicted: [I], suspended: [] });
      await moves(cluster);
      // Neither waits for a report of the evicted node about its disk.
      for (const id of [V, O]) {
        await cluster.kill(id, 'SIGKILL');
        await cluster.restart(id);
        await moves(cluster);
      }
      for (const disk of ['old', 'old', 'empty']) {
        if (disk === 'empty') rmSync(kept, { recursive: true });
        const child = cluster.launch(I);
        expect((await child.exited).code).toBeGreaterThan(0);
        expect(child.stderr).toMatch(/error: NODE_EVICTED: An operator has evicted ireland-1/);
        expect(child.stderr).not.toContain('rolled back');
      }
      for (const key of keys) expect((await call(cluster.endpoint('oregon'), 'GET', keyPath(key))).text).toBe('true');
      for (const action of ['suspend', 'hold', 'return', 'evict']) {
        const yes = action === 'return' ? [] : ['--yes'];
        const refused = await isochron(['nodes', action, I, '--endpoint', virginia, ...yes]);
        expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('evicted for ever: ireland-1') });
      }
      await moves(cluster);
      await cluster.stop();
    }),
  );

  it(
    'a member whose disk is lost while another node is dead fills its disk once that node is evicted',
    logged(async () => {
      const cluster = await Cluster.start({ settings, replication: 3 });
      const virginia = cluster.endpoint('virginia');
      await moves(cluster);
      await cluster.kill(I, 'SIGKILL');
      await until('the node is suspended', async () => (await stateOf(virginia)) === 'suspended');
      await cluster.kill(O, 'SIGKILL');
      rmSync(cluster.node(O).dataDir, { recursive: true });
      cluster.launch(O);
      const evict = () => isochron(['nodes', 'evict', I, '--endpoint', virginia, '--yes']);
      await until('the order is carried out', async () => (await evict()).code === 0, { timeoutMs: 60_000 });
      await cluster.ready([O]);
      await moves(cluster);
      await cluster.stop();
    }),
  );
});
