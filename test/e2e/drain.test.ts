import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { Load } from './load.js';
import { SessionClient } from './session-client.js';
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

describe('SIGTERM', () => {
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
