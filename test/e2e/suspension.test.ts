import { setTimeout as delay } from 'node:timers/promises';
import { connect } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { isochron } from './processes.js';
import { until } from './until.js';

jest.setTimeout(180_000);
afterEach(cleanUp);

const settings = { suspendAfterMs: 2_000 };
/** Between two writes of a region, ms. */
const PAUSE_MS = 20;

const mapOf = async (cluster: Cluster, id: string) => (await cluster.status(id)).node.map;
const shown = async (api: string, key: string) => (await call(api, 'GET', keyPath(key))).text;

const ready = (api: string) =>
  until('the node is ready', async () => (await call(api, 'GET', '/readyz')).status === 200);

/** Writes at one region until another region shows the write; resolves with the time that this took, ms. */
async function msUntilSeen(from: string, at: string): Promise<number> {
  const client = await connect({ endpoints: [from] });
  const beganMs = performance.now();
  await client.set('news', beganMs);
  await until('the other region shows the write', async () => Number(await shown(at, 'news')) === beganMs);
  await client.close();
  return Math.round(performance.now() - beganMs);
}

/** Writes new keys in every region, and keeps the keys that were acknowledged. */
class Writers {
  readonly acknowledged: string[] = [];
  #ends = false;
  #done: Promise<unknown> = Promise.resolve();

  static start(cluster: Cluster, regions: readonly string[]): Writers {
    const writers = new Writers();
    writers.#done = Promise.all(regions.map((region) => writers.#write(region, cluster.endpoint(region))));
    return writers;
  }

  async more(count: number): Promise<void> {
    const wanted = this.acknowledged.length + count;
    await until(`${count} more writes`, async () => this.acknowledged.length >= wanted);
  }

  async stop(): Promise<void> {
    this.#ends = true;
    await this.#done;
  }

  async #write(region: string, api: string): Promise<void> {
    const client = await connect({ endpoints: [api], requestTimeoutMs: 1_000 });
    for (let n = 0; !this.#ends; n++) {
      const key = `${region} ${n}`;
      await client.set(key, n).then(
        () => this.acknowledged.push(key),
        () => delay(500),
      );
      await delay(PAUSE_MS);
    }
    await client.close({ flushMs: 0 });
  }
}

describe('a cluster that suspends nodes that do not answer', () => {
  it(
    'writes become visible although a node was killed, which comes back with everything that it has acknowledged',
    logged(async () => {
      const cluster = await Cluster.start({ settings });
      const [virginia, oregon] = [cluster.endpoint('virginia'), cluster.endpoint('oregon')];
      const writers = Writers.start(cluster, ['virginia', 'oregon', 'ireland']);
      await writers.more(100);
      await cluster.kill('ireland-1', 'SIGKILL');
      const ms = await msUntilSeen(virginia, oregon);
      // Times decide no test: the figure is for the reader of the output.
      console.info(`a write was visible elsewhere ${ms} ms after a kill`);
      expect(await mapOf(cluster, 'oregon-1')).toMatchObject({ away: ['ireland-1'], suspended: ['ireland-1'] });
      expect(await isochron(['status', '--endpoint', oregon])).toMatchObject({
        stdout: expect.stringContaining('ireland-1 did not answer and is suspended'),
      });
      await writers.more(100);
      await cluster.restart('ireland-1');
      await until('the node is a member again', async () => {
        const maps = await Promise.all(cluster.nodes.map(({ id }) => mapOf(cluster, id)));
        return maps.every((map) => map?.away.length === 0 && map.deferred === 0);
      });
      await writers.more(100);
      await writers.stop();
      const missing = async (api: string): Promise<string[]> => {
        const values = await Promise.all(writers.acknowledged.map((key) => shown(api, key)));
        return writers.acknowledged.filter((key, i) => values[i] !== key.split(' ')[1]);
      };
      for (const api of cluster.endpoints())
        await until('a region shows everything that was acknowledged', async () => (await missing(api)).length === 0);
      await cluster.stop();
    }),
  );

  it(
    'a session whose node was killed sees its own writes all the time, and commits them again for all others',
    logged(async () => {
      const cluster = await Cluster.start({ settings });
      const [ireland, virginia] = [cluster.endpoint('ireland'), cluster.endpoint('virginia')];
      const client = await connect({ endpoints: [ireland, virginia] });
      await msUntilSeen(virginia, ireland);
      const keys = Array.from({ length: 40 }, (_, n) => `own ${n}`);
      const seen = async () =>
        (await Promise.all(keys.map((key) => client.get(key)))).filter((value) => value === true);
      await Promise.all(keys.map((key) => client.set(key, true)));
      await cluster.kill('ireland-1', 'SIGKILL');
      const killedMs = performance.now();
      let isVisible = false;
      while (!isVisible) {
        expect(await seen()).toHaveLength(keys.length);
        const texts = await Promise.all(keys.map((key) => shown(virginia, key)));
        isVisible = texts.every((text) => text === 'true');
      }
      console.info(`own writes were visible elsewhere ${Math.round(performance.now() - killedMs)} ms after a kill`);
      expect(await mapOf(cluster, 'virginia-1')).toMatchObject({ suspended: ['ireland-1'] });
      expect(await seen()).toHaveLength(keys.length);
      await client.set('later', true);
      await until('the session has nothing deferred', async () => client.status.deferredCommits === 0);
      await client.close();
      await cluster.stop();
    }),
  );

  it(
    'a node that stands still is suspended, and comes back when it goes on',
    logged(async () => {
      const cluster = await Cluster.start({ settings });
      const [virginia, oregon] = [cluster.endpoint('virginia'), cluster.endpoint('oregon')];
      await msUntilSeen(virginia, oregon);
      cluster.process('ireland-1').signal('SIGSTOP');
      console.info(`a write was visible elsewhere ${await msUntilSeen(virginia, oregon)} ms after a stop`);
      expect(await mapOf(cluster, 'virginia-1')).toMatchObject({ suspended: ['ireland-1'] });
      cluster.process('ireland-1').signal('SIGCONT');
      // It wakes up with the map of before: one map has suspended the node, and another brings the node back.
      await until('the node is a member again', async () => {
        const map = await mapOf(cluster, 'ireland-1');
        return map !== undefined && map.version >= 2 && map.away.length === 0;
      });
      // Until it knows that its clock is right, it takes no writes.
      await ready(cluster.endpoint('ireland'));
      await msUntilSeen(cluster.endpoint('ireland'), virginia);
      await cluster.stop();
    }),
  );

  it(
    'of two regions and a witness without data, the rest goes on without a lost region, or without the witness',
    logged(async () => {
      const [eu, us] = ['eu', 'us'];
      const cluster = await Cluster.start({ settings, regions: [eu, us, 'witness'], pinnedTo: [eu, us] });
      const isWhole = async () => (await mapOf(cluster, 'eu-1'))?.away.length === 0;
      const at = (region: string) => cluster.endpoint(region);
      for (const lost of ['witness', us]) {
        await cluster.kill(`${lost}-1`, 'SIGKILL');
        // The witness takes reads and writes like each other node.
        await msUntilSeen(at(eu), at(lost === us ? 'witness' : us));
        await until('the node is suspended', async () => (await mapOf(cluster, 'eu-1'))?.suspended[0] === `${lost}-1`);
        await cluster.restart(`${lost}-1`);
        await until('the node is a member again', isWhole);
        await ready(at(lost));
        await msUntilSeen(at(lost), at(eu));
      }
      await cluster.stop();
    }),
  );
});
