/** Clocks that are far off (K1, K2), and the export of data written under such a clock (K5). */
import { join } from 'node:path';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { isochron } from './processes.js';
import { until } from './until.js';

jest.setTimeout(120_000);
afterEach(cleanUp);

/** The clock of a machine with an empty battery. */
const DECADES = ['--clock-skew-ms', '1577000000000'];

interface Clock {
  readonly hlc: number;
  readonly ust: number;
  readonly now: number;
  readonly stalenessMs: number;
}

const clockOf = async (cluster: Cluster, id: string): Promise<Clock> =>
  (await call(cluster.node(id).api, 'GET', '/v1/clock')).json as Clock;

const wallOf = (timestamp: number): number => Date.UTC(2025, 0, 1) + timestamp / 4096;

/** Writes 30 keys, and returns the answers to those that were refused. */
async function refusedWrites(cluster: Cluster, region: string): Promise<readonly string[]> {
  const puts = Array.from({ length: 30 }, (_, i) =>
    call(cluster.endpoint(region), 'PUT', keyPath(`k${i}`), { body: { i } }),
  );
  return (await Promise.all(puts)).filter(({ status }) => status !== 200).map(({ text }) => text);
}

describe('K2: a node that starts with a clock decades ahead', () => {
  it(
    'a node with a clock decades ahead is not ready, reports why and spreads no timestamp; it is ready once its clock is right',
    logged(async () => {
      const cluster = await Cluster.start({ settings: { stalenessAlertMs: 2_000 } });
      await cluster.kill('oregon-1');
      cluster.launch('oregon-1', { args: DECADES });
      const { api } = cluster.node('oregon-1');
      await until('it reports the reason', async () => {
        const { status, text } = await call(api, 'GET', '/readyz');
        return status === 503 && /clock is \d+ ms ahead of/.test(text);
      });
      expect((await refusedWrites(cluster, 'virginia')).length).toBeLessThan(30);
      for (const id of ['virginia-1', 'ireland-1']) {
        expect((await call(cluster.node(id).api, 'GET', '/readyz?exclude=stable-time,links')).status).toBe(200);
        const { hlc, now } = await clockOf(cluster, id);
        expect(wallOf(hlc)).toBeLessThan(now + 6_000);
      }
      const links = (await cluster.status('virginia-1')).node.links;
      expect(links.find(({ node }) => node === 'oregon-1')).toMatchObject({ up: false });
      await until('the alarm comes', async () => (await clockOf(cluster, 'virginia-1')).stalenessMs > 2_000);
      await cluster.kill('oregon-1');
      await cluster.restart('oregon-1');
      await until('snapshots are fresh', async () => (await clockOf(cluster, 'virginia-1')).stalenessMs < 1_000);
      expect(await refusedWrites(cluster, 'oregon')).toEqual([]);
    }),
  );
});

describe('K5: a cluster whose disks hold timestamps from the future', () => {
  it(
    'a cluster whose disks hold timestamps from the future refuses to start; with a flag it serves an export for a new cluster',
    logged(async () => {
      const poisoned = await Cluster.start({ args: ['--clock-skew-ms', '0'] });
      await poisoned.stop();
      for (const { id } of poisoned.nodes) poisoned.launch(id, { args: DECADES });
      await poisoned.ready();
      // A write at a snapshot that is decades old would be older than the outcomes that are kept.
      await until('snapshots are fresh', async () => (await clockOf(poisoned, 'virginia-1')).stalenessMs < 10_000);
      expect(await refusedWrites(poisoned, 'virginia')).toEqual([]);
      await poisoned.stop();
      const refused = poisoned.launch('virginia-1');
      expect((await refused.exited).code).not.toBe(0);
      expect(poisoned.fullLog('virginia-1')).toMatch(/CLOCK_BEHIND_DATA.*docs\/clocks\.md/);

      for (const { id } of poisoned.nodes) poisoned.launch(id, { args: ['--accept-future-timestamps'] });
      await poisoned.ready();
      const put = await call(poisoned.endpoint('virginia'), 'PUT', keyPath('k0'), { body: { i: 'new' } });
      expect(put.text).toContain('CLOCK_DRIFT');
      const file = join(poisoned.folder, 'export.jsonl');
      const exported = await isochron(['export', '--endpoint', poisoned.endpoint('ireland'), '--output', file]);
      expect([exported.code, exported.stderr]).toMatchObject([0, expect.anything()]);
      await poisoned.stop();

      const fresh = await Cluster.start({ cluster: 'second' });
      const imported = await isochron(['import', '--endpoint', fresh.endpoint('oregon'), file]);
      expect(imported.code).toBe(0);
      for (let i = 0; i < 30; i++) {
        expect((await call(fresh.endpoint('ireland'), 'GET', keyPath(`k${i}`))).json).toEqual({ i });
      }
      expect(wallOf((await clockOf(fresh, 'ireland-1')).hlc)).toBeLessThan(Date.now() + 6_000);
    }),
  );
});
