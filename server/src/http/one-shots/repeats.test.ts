/** Writes that are repeated under their id on nodes of other regions (D4, retries anywhere). */
import { IsochronError } from '@isochron/core';
import { SessionNetwork, startApi, type TestApi } from '../../../testing/test-api.js';
import { TestCluster, testConfig } from '../../../testing/test-cluster.js';

const PATH = '/v1/keyspaces/default/keys/a';
const writes = [{ keyspace: 'default', key: 'a', value: 1 }];
let cluster: TestCluster;
let virginia: TestApi;
let oregon: TestApi;
beforeEach(async () => {
  cluster = new TestCluster();
  const network = new SessionNetwork();
  virginia = await startApi({ cluster, network });
  oregon = await startApi({ cluster, network, id: 'oregon-1' });
});
afterEach(() => Promise.all([virginia.close(), oregon.close()]));

/** The attempts and the id of the last commit of a node. */
const lastCommit = ({ node }: TestApi) => {
  const { txId, attemptRegions, avoids } = node.commits.at(-1)!;
  return { txId, attemptRegions, avoids };
};

const requests: [string, string, string, object | undefined][] = [
  ['PUT', 'PUT', PATH, { n: 1 }],
  ['PATCH', 'PATCH', PATH, { n: 1 }],
  ['DELETE', 'DELETE', PATH, undefined],
  ['POST /v1/commit', 'POST', '/v1/commit', { writes }],
  ['a claim', 'POST', `${PATH}/claim`, { n: 1 }],
];

it.each(requests)(
  'the same attempt is made in every region under one Idempotency-Key: %s',
  async (_what, method, path, body) => {
    for (const key of ['order 7', 'order 8', 'oregon:order 9', 'virginia:order 9']) {
      const headers = { 'idempotency-key': key };
      for (const api of [virginia, oregon]) await api.call(method, path, { headers, ...(body && { body }) });
      expect(lastCommit(oregon)).toEqual(lastCommit(virginia));
      const [home] = lastCommit(oregon).attemptRegions;
      if (key.includes(':')) expect(home).toBe(key.slice(0, key.indexOf(':')));
    }
  },
);

it('a write without a key is decided in the region of its node, and so is its repetition in another one', async () => {
  virginia.node.setUnresponsive({ nodes: [], regions: ['oregon'] });
  const { transaction } = (await virginia.call('PUT', PATH, { body: { n: 1 } })).json();
  const first = lastCommit(virginia);
  expect(first).toMatchObject({ attemptRegions: ['virginia'], avoids: [['oregon']] });
  const headers = { 'idempotency-key': String(transaction) };
  const again = (await oregon.call('PUT', PATH, { body: { n: 1 }, headers })).json();
  expect(again).toMatchObject({ transaction });
  expect(lastCommit(oregon)).toEqual(first);
});

it('the bare id of an interactive transaction names its home, too: its commit is repeated with it as a key', async () => {
  const id = String((await virginia.call('POST', '/v1/transactions')).json().id);
  await virginia.call('POST', `/v1/transactions/${id}/commit`, { body: { writes } });
  const headers = { 'idempotency-key': id.slice(0, id.indexOf('@')) };
  await oregon.call('POST', '/v1/commit', { body: { writes }, headers });
  expect(lastCommit(oregon)).toMatchObject({ txId: lastCommit(virginia).txId, attemptRegions: ['virginia'] });
});

it('a patch that is repeated beside the first one is answered with its outcome, although it merged another document', async () => {
  await Promise.all([virginia.close(), oregon.close()]);
  cluster = new TestCluster(testConfig('wren'));
  virginia = await startApi({ cluster });
  oregon = await startApi({ cluster, id: 'oregon-1' });
  const headers = { 'idempotency-key': 'order 7' };
  const patch = (api: TestApi) => api.call('PATCH', PATH, { body: { n: 1 }, headers });
  const first = (await patch(virginia)).json();
  // The question for its outcome was asked before the first one had committed.
  oregon.node.handlers.TxStatusReq = (_request, done) => {
    delete oregon.node.handlers.TxStatusReq;
    done({ type: 'TxStatusResp', ref: 0, status: 'unknown', ts: null, attempt: 0 });
  };
  oregon.node.handlers.CommitReq = (_request, done) => done(new IsochronError('TX_ID_REUSED', 'other writes'));
  expect((await patch(oregon)).json()).toEqual(first);
});

it('one Idempotency-Key is one write on nodes between which the secret of the cluster is being changed', async () => {
  await Promise.all([virginia.close(), oregon.close()]);
  cluster = new TestCluster();
  const [old, renewed] = ['the first secret of all', 'the second secret of all'];
  const apiKeys = ['key-of-ann'];
  virginia = await startApi({ cluster, apiKeys, secret: old, secondSecret: renewed });
  oregon = await startApi({ cluster, id: 'oregon-1', apiKeys, secret: renewed, secondSecret: old });
  const put = async (api: TestApi, key?: string) => {
    const headers = { authorization: 'Bearer key-of-ann', ...(key !== undefined && { 'idempotency-key': key }) };
    return (await api.call('PUT', PATH, { body: { n: 1 }, headers })).json();
  };
  const byKey = await put(virginia, 'order 7');
  expect(await put(oregon, 'order 7')).toEqual(byKey);
  const { transaction } = await put(virginia);
  for (const id of [byKey.transaction, transaction])
    expect(await put(oregon, String(id))).toMatchObject({ transaction: id });
});

it('an interactive transaction is known on nodes between which the secret of the cluster is being changed', async () => {
  await Promise.all([virginia.close(), oregon.close()]);
  cluster = new TestCluster();
  const [old, renewed] = ['the first secret of all', 'the second secret of all'];
  const apiKeys = ['key-of-ann'];
  virginia = await startApi({ cluster, apiKeys, secret: old, secondSecret: renewed });
  oregon = await startApi({ cluster, id: 'oregon-1', apiKeys, secret: renewed, secondSecret: old });
  const headers = { authorization: 'Bearer key-of-ann' };
  const id = String((await virginia.call('POST', '/v1/transactions', { headers })).json().id);
  const commit = (api: TestApi) =>
    api.call('POST', `/v1/transactions/${id}/commit`, { body: { writes }, headers }).then((answer) => answer.json());
  const { timestamp } = await commit(virginia);
  expect(await commit(oregon)).toMatchObject({ timestamp });
});
