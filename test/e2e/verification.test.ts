import { cpSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ChaosCluster } from '../chaos/cluster.js';
import { cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { until } from './until.js';

jest.setTimeout(180_000);

const VICTIM = 'virginia-1';
/** Keys of one transaction: they lie in several partitions. */
const KEYS_EACH = 6;
/** How long the links of the rolled-back node stay down after its start. */
const LATE_MS = 5_000;

let chaos: ChaosCluster;
afterEach(async () => {
  await chaos.dispose();
  await cleanUp();
});

const keysOf = (name: string): string[] => Array.from({ length: KEYS_EACH }, (_, i) => `${name}-${i}`);

/** A transaction of several keys through a region; whether it was acknowledged. */
async function commits(region: string, name: string): Promise<boolean> {
  const writes = keysOf(name).map((key) => ({ keyspace: 'default', key, value: name }));
  const answer = await call(chaos.cluster.endpoint(region), 'POST', '/v1/commit', { body: { writes } });
  return answer.status === 200;
}

/** Waits until every node serves a stable time above everything that was acknowledged before. */
async function settled(): Promise<void> {
  const { hlc } = await chaos.clocks('oregon-1');
  await until('everything is stable', async () => {
    const clocks = await Promise.all(chaos.nodes.map((id) => chaos.clocks(id).catch(() => ({ ust: 0 }))));
    return clocks.every(({ ust }) => ust >= hlc);
  });
}

/** The verification of its disk that a node's status reports. */
const verification = async (): Promise<unknown> => {
  const { json } = await call(chaos.cluster.node(VICTIM).api, 'GET', '/v1/cluster');
  return (json as { node: { verification: unknown } }).node.verification;
};

const metrics = async (): Promise<string> =>
  (await call(chaos.cluster.node(VICTIM).metrics, 'GET', '/metrics', { timeoutMs: 5_000 })).text;

/** The transactions of which a region lacks keys. */
async function torn(region: string, names: readonly string[]): Promise<string[]> {
  const lacking: string[] = [];
  for (const name of names) {
    for (const key of keysOf(name)) {
      const got = await call(chaos.cluster.endpoint(region), 'GET', keyPath(key));
      if (got.status !== 200) lacking.push(`${key}: ${got.status}`);
    }
  }
  return lacking;
}

const own = () => chaos.links.pairs.filter((pair) => pair.includes(VICTIM)).map((pair) => chaos.links.proxy(pair));

describe('D10: a node that starts on an older disk while its links are down', () => {
  it(
    'a node on an older disk acknowledges nothing before a peer has reported, and no acknowledged transaction loses keys',
    logged(async () => {
      chaos = await ChaosCluster.start({});
      const { dataDir } = chaos.cluster.node(VICTIM);
      expect(await commits('virginia', 'before')).toBe(true);
      await settled();
      await chaos.end(VICTIM, 'SIGTERM');
      const old = `${dataDir}-old`;
      cpSync(dataDir, old, { recursive: true });
      chaos.launch(VICTIM);
      await chaos.cluster.ready();
      const acknowledged = ['before'];
      for (let i = 0; i < 10; i++) if (await commits('virginia', `later${i}`)) acknowledged.push(`later${i}`);
      expect(acknowledged).toHaveLength(11);
      await settled();
      await chaos.end(VICTIM, 'SIGKILL');
      rmSync(dataDir, { recursive: true });
      cpSync(old, dataDir, { recursive: true });
      for (const proxy of own()) proxy.cut();
      chaos.launch(VICTIM);
      const lateUntil = Date.now() + LATE_MS;
      await until('it reports', async () => {
        const status = await verification().catch(() => undefined);
        return JSON.stringify(status) === '{"state":"verifying","missing":["ireland-1","oregon-1"],"timedOut":false}';
      });
      expect(await metrics()).toMatch(/isochron_disk_verified\{[^}]*\} 0/);
      for (let i = 0; Date.now() < lateUntil; i++) {
        const name = `late${i}`;
        if (await commits('virginia', name).catch(() => false)) acknowledged.push(name);
        await delay(200);
      }
      expect(acknowledged).toHaveLength(11);
      for (const proxy of own()) proxy.heal();
      await until('it is rebuilt', () => /set aside/.test(chaos.cluster.fullLog(VICTIM)), { timeoutMs: 60_000 });
      await chaos.cluster.ready(chaos.nodes, 60_000);
      expect(await commits('virginia', 'after')).toBe(true);
      await settled();
      for (const region of ['virginia', 'oregon', 'ireland']) {
        expect(await torn(region, [...acknowledged, 'after'])).toEqual([]);
      }
    }),
  );

  it(
    'a node on an older disk goes on unverified after verifyTimeoutMs; log, status and metrics report it until peers are back',
    logged(async () => {
      chaos = await ChaosCluster.start({ settings: { verifyTimeoutMs: 3_000 } });
      expect(await commits('virginia', 'before')).toBe(true);
      await settled();
      await chaos.end(VICTIM, 'SIGKILL');
      for (const proxy of own()) proxy.cut();
      chaos.launch(VICTIM);
      const unverified = { state: 'unverified', missing: ['ireland-1', 'oregon-1'], timedOut: true };
      await until('it goes on', async () => {
        const status = await verification().catch(() => undefined);
        return JSON.stringify(status) === JSON.stringify(unverified);
      });
      await until('it is logged', () => /goes on unverified/.test(chaos.cluster.fullLog(VICTIM)));
      expect(await metrics()).toMatch(/isochron_disk_verify_timed_out\{[^}]*\} 1/);
      for (const proxy of own()) proxy.heal();
      await until('it is verified', async () => JSON.stringify(await verification()).includes('"verified"'));
      await chaos.cluster.ready();
      expect(await metrics()).toMatch(/isochron_disk_verified\{[^}]*\} 1/);
      // A node starts with the stable time of its disk, which may be older than the one that it served (D7, restarts).
      await settled();
      expect(await torn('virginia', ['before'])).toEqual([]);
    }),
  );
});
