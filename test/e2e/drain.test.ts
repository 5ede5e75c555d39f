import { connect } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { Load } from './load.js';
import { isochron } from './processes.js';
import { SessionClient } from './session-client.js';
import { StableTimeWatch } from './stable-time.js';
import { until } from './until.js';

jest.setTimeout(180_000);
afterEach(cleanUp);

const SEED = 20_250_303;

describe('while every node in turn is closed by SIGTERM and started again', () => {
  it(
    'no request fails while every node in turn is closed and restarted, and the history is causally consistent',
    logged(async () => {
      const cluster = await Cluster.start();
      const load = await Load.start(cluster.endpoints(), SEED);
      for (const { id } of cluster.nodes) {
        await load.more(`before ${id} closes`);
        expect(await cluster.kill(id, 'SIGTERM')).toEqual({ code: 0, signal: null });
        // At once, as a rolling restart does: commits that need one of its replicas wait for it.
        await cluster.restart(id);
      }
      await load.more('at the end');
      await load.stop();
      for (const { id } of cluster.nodes) expect(cluster.log(id)).toContain('drained');
      await until('no prepared transaction is left', async () => {
        const all = await Promise.all(cluster.nodes.map(({ id }) => cluster.status(id)));
        return all.every(({ node }) => node.partitions.every(({ prepared }) => prepared === 0));
      });
      await cluster.stop();
    }),
  );
});

describe('isochron drain', () => {
  it(
    'a node that is drained under load leaves and comes back, and loses nothing when it is killed meanwhile',
    logged(async () => {
      const cluster = await Cluster.start();
      const load = await Load.start(cluster.endpoints(), SEED);
      const drain = (...args: string[]) =>
        isochron(['drain', 'ireland-1', ...args, '--endpoint', cluster.endpoint('oregon')]);
      const stable = await StableTimeWatch.start([cluster.endpoint('virginia'), cluster.endpoint('oregon')]);
      await load.more('before the drain');
      expect(await drain()).toMatchObject({ code: 0, stdout: expect.stringContaining('has left the members') });
      await load.more('after the drain');
      expect(await call(cluster.endpoint('ireland'), 'GET', '/readyz')).toMatchObject({ status: 503 });
      expect(await drain('--end')).toMatchObject({ code: 0 });
      const mapOf = async (id: string) => (await cluster.status(id)).node.map;
      await until('the node is back', async () => (await mapOf('virginia-1'))?.away.length === 0);
      await load.more('after the return');
      expect(await drain()).toMatchObject({ code: 0 });
      await cluster.kill('ireland-1', 'SIGKILL');
      await load.more('while the node is down');
      const stood = await stable.stop();
      await cluster.restart('ireland-1');
      expect(await mapOf('ireland-1')).toMatchObject({ version: 4, away: [] });
      await load.more('at the end');
      await load.stop();
      // Times decide no test: the figure is for the reader of the output.
      console.info(`stable time stood still for at most ${stood} ms, over two drains, a return and a kill`);
      await cluster.stop();
    }),
  );
});

describe('SIGTERM', () => {
  it(
    'a node that is closed in order leaves the members: writes become visible without it, and it comes back by itself',
    logged(async () => {
      const cluster = await Cluster.start();
      const [virginia, oregon] = [cluster.endpoint('virginia'), cluster.endpoint('oregon')];
      const client = await connect({ endpoints: [virginia] });
      await (await client.set('before', 1)).stable();
      expect(await cluster.kill('ireland-1', 'SIGTERM')).toEqual({ code: 0, signal: null });
      expect(cluster.log('ireland-1')).toContain('left the members');
      // Every replica of the others is read and written: stable time goes on without the node.
      for (const [i, key] of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].entries()) {
        await client.set(key, i);
        await until(`oregon shows ${key}`, async () => (await call(oregon, 'GET', keyPath(key))).text === String(i));
      }
      const mapOf = async (id: string) => (await cluster.status(id)).node.map;
      expect(await mapOf('oregon-1')).toMatchObject({ version: 1, away: ['ireland-1'], isSealed: false });
      await cluster.restart('ireland-1');
      expect(await mapOf('ireland-1')).toMatchObject({ version: 2, away: [] });
      await until('the node that was away shows all', async () => {
        const texts = await Promise.all(
          ['a', 'h'].map(async (key) => (await call(cluster.endpoint('ireland'), 'GET', keyPath(key))).text),
        );
        return texts.join() === '0,7';
      });
      // `stable` waits for every member, which the node is again.
      await (await client.set('after', 1)).stable();
      await client.close();
      await cluster.stop();
    }),
  );

  it(
    'SIGTERM lets sessions leave, finishes work in progress, and refuses new work meanwhile',
    logged(async () => {
      const cluster = await Cluster.start({ regions: ['virginia', 'oregon'] });
      const api = cluster.endpoint('virginia');
      const opened = await call(api, 'POST', '/v1/transactions');
      const session = await SessionClient.open(api);
      await session.hello();
      const node = cluster.process('virginia-1');
      node.signal('SIGTERM');
      await session.next('goaway', ({ type }) => type === 'goaway');
      expect(await call(api, 'GET', '/readyz')).toMatchObject({ status: 503, json: { code: 'NOT_READY' } });
      session.send({ type: 'read', id: 1, keys: ['default/a'] });
      await session.next('a read', ({ id }) => id === 1);
      const late = await SessionClient.open(api);
      late.send({ type: 'hello' });
      await late.next('a refusal', ({ type, code }) => type === 'error' && code === 'NOT_READY');
      const path = `${String(opened.headers.location)}/commit`;
      const done = await call(api, 'POST', path, { body: { writes: [{ keyspace: 'default', key: 'a', value: 1 }] } });
      expect(done.status).toBe(200);
      expect(node.exit).toBeUndefined();
      await session.close();
      expect(await node.exited).toEqual({ code: 0, signal: null });
      const { transaction } = done.json as { transaction: string };
      const asked = await call(cluster.endpoint('oregon'), 'GET', `/v1/transactions/${transaction}`);
      expect(asked.json).toMatchObject({ status: expect.stringMatching(/committed|pending|unknown/) });
      await cluster.restart('virginia-1');
      await until('the other region has it', async () => {
        return (await call(cluster.endpoint('oregon'), 'GET', keyPath('a'))).text === '1';
      });
      await cluster.stop();
    }),
  );

  it(
    'a second SIGTERM ends the node at once',
    logged(async () => {
      const cluster = await Cluster.start({ regions: ['virginia'] });
      const session = await SessionClient.open(cluster.endpoint('virginia'));
      await session.hello();
      const node = cluster.process('virginia-1');
      node.signal('SIGTERM');
      await session.next('goaway', ({ type }) => type === 'goaway');
      node.signal('SIGTERM');
      expect(await node.exited).toEqual({ code: 1, signal: null });
      // Acknowledged writes do not depend on an orderly end.
      await cluster.restart('virginia-1');
    }),
  );
});
