import { packWall } from '@isochron/core';
import type { Loss } from '@isochron/protocols';
import { TestAuthFile } from '../../../testing/issuer.js';
import { send, startApi, type TestApi } from '../../../testing/test-api.js';
import { digestOf } from '../../auth/api-keys.js';
import { buildMetrics } from '../metrics/metrics.js';

const loss = (n: number, changes: Partial<Loss> = {}): Loss => ({
  txId: `abcdefghijklmnopqrstuv.${n}`,
  ts: packWall(Date.UTC(2026, 0, 1) + n),
  attempt: 0,
  committed: true,
  takenBack: false,
  node: 'oregon-1',
  partitions: [0, 4],
  keys: ['default/a/b', 'eu/c'],
  acknowledged: false,
  overtaken: false,
  ...changes,
});
const acknowledge = (body: unknown) => api.call('POST', '/v1/losses/acknowledge', { body });
const listed = async (query = '') => {
  const { losses, open } = (await api.call('GET', `/v1/losses${query}`)).json() as {
    open: number;
    losses: { transaction: string; acknowledged: boolean }[];
  };
  return [open, ...losses.map(({ transaction, acknowledged }) => `${transaction.at(-1)}${acknowledged ? '!' : ''}`)];
};

let api: TestApi;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

describe('losses', () => {
  it('losses are listed with all their fields, newest first, also before the node is ready', async () => {
    api.node.isReady = false;
    expect((await api.call('GET', '/v1/losses')).json()).toEqual({ node: 'virginia-1', open: 0, losses: [] });
    api.node.lose(loss(1), loss(2, { committed: false, takenBack: true, keys: [] }));
    expect((await api.call('GET', '/v1/losses')).json()).toEqual({
      node: 'virginia-1',
      open: 2,
      losses: [
        expect.objectContaining({ transaction: loss(2).txId, committed: false, takenBack: true, keys: [] }),
        {
          transaction: loss(1).txId,
          timestamp: loss(1).ts,
          time: '2026-01-01T00:00:00.001Z',
          attempt: 0,
          committed: true,
          takenBack: false,
          node: 'oregon-1',
          partitions: ['default/0', 'eu/0'],
          keys: [
            { keyspace: 'default', key: 'a/b' },
            { keyspace: 'eu', key: 'c' },
          ],
          acknowledged: false,
        },
      ],
    });
    expect(await listed('?limit=1')).toEqual([2, '2']);
  });

  it('losses are acknowledged by transaction or all at once, and then listed only with all=true', async () => {
    api.node.lose(loss(1), loss(2), loss(3));
    const { txId } = loss(2);
    expect((await acknowledge({ transactions: [txId, 'unknown.0'] })).json()).toEqual({
      node: 'virginia-1',
      acknowledged: 1,
      open: 2,
    });
    expect(await listed()).toEqual([2, '3', '1']);
    expect(await listed('?all=true')).toEqual([2, '3', '2!', '1']);
    expect((await acknowledge({ all: true })).json()).toMatchObject({ acknowledged: 2, open: 0 });
    expect(await listed()).toEqual([0]);
    expect(await listed('?all=true')).toEqual([0, '3!', '2!', '1!']);
  });

  it.each([{}, { all: true, transactions: ['a'] }, { all: false }, { transactions: [] }, { transactions: 'all' }])(
    'losses are not acknowledged by a request that does not specify which: %j',
    async (body) => {
      api.node.lose(loss(1));
      expect((await acknowledge(body)).json()).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
      expect(await listed()).toEqual([1, '1']);
    },
  );

  it('the status has the number of open losses and the newest five', async () => {
    for (let n = 1; n <= 7; n++) api.node.lose(loss(n));
    await acknowledge({ transactions: [loss(6).txId] });
    const { losses, node } = (await api.call('GET', '/v1/cluster')).json() as {
      losses: { open: number; newest: { transaction: string }[] };
      node: { losses: object };
    };
    expect([losses.open, node.losses]).toEqual([6, { open: 6 }]);
    expect(losses.newest.map(({ transaction }) => transaction.at(-1))).toEqual(['7', '5', '4', '3', '2']);
  });

  it('open losses are counted in the metrics', async () => {
    api.node.lose(loss(1), loss(2), loss(3, { acknowledged: true }));
    const metrics = buildMetrics(api.node);
    const url = await metrics.listen({ port: 0, host: '127.0.0.1' });
    const { text } = await send(url, 'GET', '/metrics');
    await metrics.close();
    expect(text).toMatch(/^isochron_losses_open\{[^}]*\} 2$/m);
  });

  it('losses require an API key where the node has any', async () => {
    const closed = await startApi({ apiKeys: ['a key that is long enough'] });
    for (const [method, path] of [
      ['GET', '/v1/losses'],
      ['POST', '/v1/losses/acknowledge'],
    ] as const) {
      expect((await closed.call(method, path, method === 'POST' ? { body: { all: true } } : {})).status).toBe(401);
    }
    await closed.close();
  });
});

it('the status of the node names keys of losses to operators alone', async () => {
  const entries = ['operator', 'writer'].map(
    (role) => `  - { principal: ${role}, hash: ${digestOf(role)}, roles: [${role}] }`,
  );
  const keyed = await startApi({ auth: new TestAuthFile(`keys:\n${entries.join('\n')}\n`) });
  try {
    keyed.node.lose(loss(1));
    const losses = async (role: string) =>
      (await keyed.call('GET', '/v1/cluster', { headers: { authorization: `Bearer ${role}` } })).json().losses;
    expect(await losses('operator')).toMatchObject({ open: 1, newest: [{ keys: [{ key: 'a/b' }, { key: 'c' }] }] });
    expect(await losses('writer')).toEqual({ open: 1, newest: [] });
  } finally {
    await keyed.close();
  }
});
