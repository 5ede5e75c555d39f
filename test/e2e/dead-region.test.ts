import { connect } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { isochron } from './processes.js';
import { until } from './until.js';

jest.setTimeout(120_000);
afterEach(cleanUp);

const ALERT_MS = 1000;

/** The fields of `/v1/cluster` about stable time. */
interface Stability {
  readonly stale: boolean;
  readonly stalenessMs: number;
  readonly heldBackBy: { readonly region: string; readonly node: string } | null;
  readonly lowest: { readonly region: string } | null;
}

const stabilityOf = async (api: string): Promise<Stability> =>
  ((await call(api, 'GET', '/v1/cluster')).json as { stability: Stability }).stability;

describe('a region that is down', () => {
  it(
    'a dead region that is not suspended freezes stable time; status, metrics, log and SDK name it, and it recovers',
    logged(async () => {
      const cluster = await Cluster.start({ settings: { stalenessAlertMs: ALERT_MS, suspendAfterMs: 0 } });
      const [virginia, oregon] = ['virginia', 'oregon'].map((region) => cluster.endpoint(region)) as [string, string];
      const client = await connect({ endpoints: [virginia] });
      const regions: (string | undefined)[] = [];
      client.on('status', ({ stale, heldBackBy }) => {
        // By its own clock the client detects stale time before a node reports which region holds it back.
        const now = stale ? heldBackBy?.region : 'fresh';
        if (now !== undefined && now !== regions.at(-1)) regions.push(now);
      });
      await (await client.set('a', 1)).stable();
      expect(client.status).toMatchObject({ stale: false, heldBackBy: undefined });
      expect((await stabilityOf(virginia)).lowest).not.toBeNull();

      await cluster.kill('ireland-1');
      for (const api of [virginia, oregon]) {
        await until(`${api} reports stale stable time`, async () => (await stabilityOf(api)).stale);
        expect((await stabilityOf(api)).heldBackBy).toMatchObject({ region: 'ireland', node: 'ireland-1' });
      }
      const { stale, heldBackBy } = await until(
        'the SDK reports the region',
        () => client.status.heldBackBy && client.status,
      );
      expect([stale, heldBackBy]).toMatchObject([true, { region: 'ireland', node: 'ireland-1' }]);
      const before = client.status.stalenessMs!;
      expect(before).toBeGreaterThan(ALERT_MS);
      // Reads of stable and of own data go on, and so do writes.
      await client.set('virginia-writes', 2);
      expect(await client.getMany(['a', 'virginia-writes'])).toEqual([1, 2]);
      const snapshot = await client.snapshot();
      expect(snapshot.stalenessMs).toBeGreaterThanOrEqual(before);
      await snapshot.close();
      const got = await call(oregon, 'GET', keyPath('a'));
      expect([got.status, Number(got.headers['isochron-staleness-ms']) > ALERT_MS]).toEqual([200, true]);
      const metrics = (await call(cluster.node('oregon-1').metrics, 'GET', '/metrics')).text;
      expect(metrics).toMatch(/isochron_ust_stale\{[^}]*\} 1\n/);
      expect(metrics).toMatch(/isochron_ust_held_back\{by_region="ireland",by_node="ireland-1"/);
      const shown = await isochron(['status', '--endpoint', virginia]);
      expect(shown.stdout).toMatch(
        /snapshots are .* old, more than the alert allows \(1\.0 s\): .* ireland \(ireland-1\)/,
      );
      expect(shown.stdout).toContain('unreachable');

      await cluster.restart('ireland-1');
      await until('the SDK reports fresh snapshots', () => !client.status.stale);
      await until('the whole cluster is fresh', async () => {
        const all = await Promise.all(cluster.endpoints().map(stabilityOf));
        return all.every((stability) => !stability.stale && stability.heldBackBy === null);
      });
      expect(regions.filter((region) => region !== 'fresh')).toEqual(['ireland']);
      const log = cluster.log('virginia-1');
      expect(log).toContain('snapshots are stale');
      await until('the log reports fresh snapshots', () =>
        cluster.log('virginia-1').includes('snapshots are fresh again'),
      );
      expect((await isochron(['status', '--endpoint', virginia])).stdout).not.toContain('snapshots are');
      await client.close();
      await cluster.stop();
    }),
  );
});
