import { ChaosCluster } from '../chaos/cluster.js';
import { cleanUp, logged } from './harness.js';
import { call, keyPath } from './http.js';
import { until } from './until.js';

jest.setTimeout(240_000);

const VICTIM = 'virginia-1';
/** Keys of one transaction: they lie on both nodes of its home region. */
const KEYS_EACH = 6;
const TRANSACTIONS = 10;

let chaos: ChaosCluster;
afterEach(async () => {
  await chaos.dispose();
  await cleanUp();
});

const keysOf = (name: string): string[] => Array.from({ length: KEYS_EACH }, (_, i) => `${name}-${i}`);
const nameOf = (i: number): string => `torn${i}`;

/** Commits keys through a neighbour of the victim. Returns the transaction's id. */
async function commit(name: string): Promise<string> {
  const writes = keysOf(name).map((key) => ({ keyspace: 'default', key, value: name }));
  const answer = await call(chaos.cluster.node('virginia-2').api, 'POST', '/v1/commit', {
    body: { writes },
    headers: { 'idempotency-key': `virginia:${name}` },
  });
  expect([name, answer.status]).toEqual([name, 200]);
  return (answer.json as { readonly transaction: string }).transaction;
}

interface LossesAnswer {
  readonly open: number;
  readonly losses: readonly {
    readonly transaction: string;
    readonly keys: readonly unknown[];
    readonly takenBack: boolean;
  }[];
}

const lossesOf = async (node: string): Promise<LossesAnswer> =>
  (await call(chaos.cluster.node(node).api, 'GET', '/v1/losses')).json as LossesAnswer;

describe('D10: a lost disk that other regions have received nothing from', () => {
  it(
    'a disk lost with unreplicated data leaves no half transaction; every node reports the loss until it is acknowledged',
    logged(async () => {
      chaos = await ChaosCluster.start({ nodesPerRegion: 2, settings: { stalenessAlertMs: 60_000 } });
      await until('the cluster takes writes', async () => {
        const put = await call(chaos.cluster.node('virginia-2').api, 'PUT', keyPath('first'), { body: 1 });
        return put.status === 200;
      });
      const wan = chaos.links.pairs.filter((pair) => pair.includes(VICTIM) && !pair.includes('virginia-2'));
      for (const pair of wan) chaos.links.proxy(pair).cut();
      const ids: string[] = [];
      for (let i = 0; i < TRANSACTIONS; i++) ids.push(await commit(nameOf(i)));
      await chaos.end(VICTIM, 'SIGKILL');
      chaos.wipe(VICTIM);
      chaos.links.heal();
      chaos.launch(VICTIM);
      await chaos.cluster.ready(chaos.nodes, 120_000);
      for (const region of ['virginia', 'oregon', 'ireland']) {
        for (let i = 0; i < TRANSACTIONS; i++) {
          const reads = keysOf(nameOf(i)).map((key) => call(chaos.cluster.endpoint(region), 'GET', keyPath(key)));
          const found = new Set((await Promise.all(reads)).map(({ status }) => status));
          expect([region, i, found.size]).toEqual([region, i, 1]);
        }
      }
      const gone: string[] = [];
      for (const [i, id] of ids.entries()) {
        const { status } = await call(chaos.cluster.endpoint('oregon'), 'GET', keyPath(keysOf(nameOf(i))[0]!));
        if (status === 404) gone.push(id);
      }
      expect(gone.length).toBeGreaterThan(0);
      for (const node of chaos.nodes) {
        const { losses } = await lossesOf(node);
        expect([node, losses.map(({ transaction }) => transaction).sort()]).toEqual([node, [...gone].sort()]);
        expect(losses.every(({ takenBack, keys }) => takenBack && keys.length > 0)).toBe(true);
        for (const id of gone) {
          const { json } = await call(chaos.cluster.node(node).api, 'GET', `/v1/transactions/${id}`);
          expect([node, id, (json as { status: string }).status]).toEqual([node, id, 'lost']);
        }
      }
      const { api } = chaos.cluster.node('oregon-1');
      expect((await call(api, 'POST', '/v1/losses/acknowledge', { body: { all: true } })).status).toBe(200);
      expect((await lossesOf('oregon-1')).open).toBe(0);
    }),
  );
});
