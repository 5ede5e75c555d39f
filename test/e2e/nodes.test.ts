import { connect } from '@isochron/sdk';
import { Cluster, cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { isochron } from './processes.js';
import { until } from './until.js';

jest.setTimeout(180_000);
afterEach(cleanUp);

interface ListedNode {
  readonly node: string;
  readonly state: string;
  readonly since: string | null;
  readonly why: string;
}

/** The state of a node, as a command at an endpoint lists it. */
async function listed(endpoint: string, id: string): Promise<ListedNode> {
  const { stdout } = await isochron(['nodes', '--json', '--endpoint', endpoint]);
  return (JSON.parse(stdout) as { nodes: ListedNode[] }).nodes.find(({ node }) => node === id)!;
}

describe('isochron nodes', () => {
  it(
    'a dead node is suspended by an order where none is by itself, held over restarts of all, and let back',
    logged(async () => {
      const cluster = await Cluster.start();
      const [virginia, oregon] = [cluster.endpoint('virginia'), cluster.endpoint('oregon')];
      const nodes = (...args: string[]) => isochron(['nodes', ...args, '--endpoint', virginia]);
      const client = await connect({ endpoints: [virginia] });
      await (await client.set('before', 1)).stable();
      await cluster.kill('ireland-1', 'SIGKILL');
      await until('the node is suspected', async () => (await listed(virginia, 'ireland-1')).state === 'suspected');
      expect(await nodes('suspend', 'ireland-1', '--yes')).toMatchObject({ code: 0, stderr: '' });
      await client.set('after', 2);
      await until('the other region shows it', async () => (await call(oregon, 'GET', keyPath('after'))).text === '2');
      expect(await listed(oregon, 'ireland-1')).toMatchObject({ state: 'suspended', why: 'an operator ordered it' });
      expect(await nodes('hold', 'ireland-1', '--yes')).toMatchObject({ code: 0 });
      await client.close();
      for (const id of ['virginia-1', 'oregon-1']) await cluster.kill(id, 'SIGKILL');
      // A held node is not ready.
      cluster.launch('ireland-1');
      await Promise.all(['virginia-1', 'oregon-1'].map((id) => cluster.restart(id)));
      await until('all links are up', async () => {
        const { state, why } = await listed(oregon, 'ireland-1');
        return state === 'held' && why === 'an operator keeps it away';
      });
      expect(await nodes('suspend', 'ireland-1', '--yes')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('NOT_READY: no members already: ireland-1'),
      });
      expect(await nodes('return', 'ireland-1')).toMatchObject({ code: 0 });
      await until('the node is a member', async () => (await listed(oregon, 'ireland-1')).state === 'active');
      await until('the node shows what it missed', async () => {
        return (await call(cluster.endpoint('ireland'), 'GET', keyPath('after'))).text === '2';
      });
      await cluster.stop();
    }),
  );
});
