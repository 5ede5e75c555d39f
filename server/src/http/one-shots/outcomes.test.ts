import { IsochronError, packWall } from '@isochron/core';
import type { TxStatusResp } from '@isochron/protocols';
import type { Done } from '@isochron/sessions';
import { SessionClient } from '../../../testing/session-client.js';
import { SessionNetwork, startApi, type TestApi } from '../../../testing/test-api.js';
import { TestCluster, testConfig } from '../../../testing/test-cluster.js';

/** Outcomes are retained for a shorter time than the cluster is old. */
const RETAINING = { ...testConfig(), settings: { ...testConfig().settings, outcomeRetentionMs: 600_000 } };
const TX_ID = 'abcdefghijklmnopqrstuv-A0.0';
let cluster: TestCluster;
let api: TestApi;
let other: TestApi;
beforeEach(async () => {
  cluster = new TestCluster(RETAINING);
  const network = new SessionNetwork();
  api = await startApi({ cluster, network });
  other = await startApi({ cluster, network, id: 'oregon-1' });
});
afterEach(() => Promise.all([api.close(), other.close()]));

const statusOf = async (target: TestApi, id: string, query = '') =>
  (await target.call('GET', `/v1/transactions/${id}${query}`)).json();

describe('GET /v1/transactions/:id', () => {
  it('GET /v1/transactions/:id answers for any transaction, on any node of any region', async () => {
    const { transaction, timestamp } = (await api.call('PUT', '/v1/keyspaces/default/keys/a', { body: 1 })).json();
    for (const target of [api, other])
      expect(await statusOf(target, String(transaction))).toEqual({ id: transaction, status: 'committed', timestamp });
  });

  it('GET /v1/transactions/:id asks the node of an open transaction, or any other when that is gone', async () => {
    const { id, snapshot } = (await api.call('POST', '/v1/transactions', {})).json();
    const second = await startApi({ cluster, id: 'virginia-2' });
    expect(await statusOf(second, String(id))).toEqual({ id, status: 'open', timestamp: snapshot });
    expect(second.node.calls.map(({ coordinator }) => coordinator)).toEqual(['virginia-1']);
    second.node.failNext = new IsochronError('CONNECTION_LOST', 'the link is down');
    expect(await statusOf(second, String(id))).toMatchObject({ status: 'unknown' });
    expect(second.node.calls.map(({ coordinator }) => coordinator).slice(1)).toEqual(['virginia-1', undefined]);
    await second.close();
  });

  it.each(['pending', 'aborted', 'lost'] as const)('the status of a transaction may be %s', async (status) => {
    const answer: TxStatusResp = { type: 'TxStatusResp', ref: 0, status, ts: null, attempt: 0 };
    api.node.handlers.TxStatusReq = (_request, done) => done(answer);
    expect(await statusOf(api, TX_ID)).toEqual({ id: TX_ID, status, timestamp: null });
  });

  it('a sentAfter before the retained outcomes is answered with forgotten, a later one with unknown (D5)', async () => {
    const { outcomeRetentionMs } = cluster.config.settings;
    const kept = packWall(api.node.now() - outcomeRetentionMs);
    expect(await statusOf(api, TX_ID)).toMatchObject({ status: 'unknown' });
    expect(await statusOf(api, TX_ID, `?sentAfter=${kept}`)).toMatchObject({ status: 'unknown' });
    expect(await statusOf(api, TX_ID, `?sentAfter=${kept - 1}`)).toMatchObject({ status: 'forgotten' });
    // An outcome that some node still has is not forgotten.
    const headers = { 'idempotency-key': TX_ID };
    await api.call('PUT', '/v1/keyspaces/default/keys/a', { body: 1, headers });
    expect(await statusOf(api, TX_ID, `?sentAfter=${kept - 1}`)).toMatchObject({ status: 'committed' });
  });

  it.each([
    'nonsense',
    `${TX_ID}@nowhere-1@0`,
    `${TX_ID}@virginia-1`,
    `${TX_ID}@virginia-1@!`,
    `${TX_ID}@virginia-1@1@2@3`,
  ])('GET /v1/transactions/:id refuses an invalid id: %s', async (id) => {
    expect(await statusOf(api, id)).toMatchObject({ code: 'TRANSACTION_UNKNOWN', status: 404 });
  });

  it('concurrent questions for outcomes are limited: each of them goes to every replica', async () => {
    const held: Done<TxStatusResp>[] = [];
    const answer = (resp: TxStatusResp): void => {
      api.node.handlers.TxStatusReq = (_request, done) => done(resp);
      for (const done of held) done(resp);
    };
    api.node.handlers.TxStatusReq = (_request, done) => held.push(done);
    let refusals = 0;
    const asked = Array.from({ length: 40 }, async () => {
      const outcome = await statusOf(api, TX_ID);
      // The others proceed when all that are too many have been refused.
      if (outcome.code !== undefined && ++refusals === 8) {
        answer({ type: 'TxStatusResp', ref: 0, status: 'unknown', ts: null, attempt: 0 });
      }
      return outcome.code ?? outcome.status;
    });
    const outcomes = await Promise.all(asked);
    expect(outcomes.filter((code) => code === 'OVERLOADED')).toHaveLength(8);
    expect(outcomes.filter((code) => code === 'unknown')).toHaveLength(32);
    expect(await statusOf(api, TX_ID)).toMatchObject({ status: 'unknown' });
  });
});

describe('a commit that ended without a word of its cohorts', () => {
  it('a commit that ended without a decision of its cohorts is OUTCOME_UNKNOWN, with its id', async () => {
    api.node.failNext = new IsochronError('CONNECTION_LOST', 'why');
    const answer = await api.call('PUT', '/v1/keyspaces/default/keys/a', { body: 1 });
    expect(answer.status).toBe(504);
    const { transaction, ...problem } = answer.json();
    expect(problem).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: true, detail: 'why' });
    expect(await statusOf(other, String(transaction))).toMatchObject({ status: 'unknown' });
    const again = await api.call('PUT', '/v1/keyspaces/default/keys/a', {
      body: 1,
      headers: { 'idempotency-key': String(transaction) },
    });
    expect(again.json()).toMatchObject({ transaction });
  });

  it('a commit that the coordinator reports as pending keeps the code OUTCOME_PENDING', async () => {
    api.node.failNext = new IsochronError('OUTCOME_PENDING', 'why');
    const answer = await api.call('POST', '/v1/commit', {
      body: { writes: [{ keyspace: 'default', key: 'a', value: 1 }] },
    });
    expect(answer.json()).toMatchObject({ code: 'OUTCOME_PENDING', transaction: expect.any(String) });
  });

  it('a commit whose attempt was aborted is tried again, as the next attempt in the newest map (M6, D4)', async () => {
    api.node.failNext = new IsochronError('TRANSACTION_ABORTED', 'why');
    const answer = await api.call('PUT', '/v1/keyspaces/default/keys/a', { body: 1 });
    expect(answer.json().code).toBeUndefined();
    expect(api.node.commits.map(({ attemptRegions, maps }) => [attemptRegions, maps])).toEqual([
      [['virginia'], undefined],
      [
        ['virginia', 'virginia'],
        [0, 0],
      ],
    ]);
  });

  it.each(['OVERLOADED', 'STORAGE_FULL', 'NOT_READY'] as const)(
    'a commit that was refused with %s keeps that definite code',
    async (code) => {
      api.node.failNext = new IsochronError(code, 'why');
      const answer = await api.call('PUT', '/v1/keyspaces/default/keys/a', { body: 1 });
      expect(answer.json()).toMatchObject({ code });
      expect(answer.json()).not.toHaveProperty('transaction');
    },
  );

  it('a commit that ended without a decision of its cohorts is OUTCOME_UNKNOWN to sessions, too', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    api.node.failNext = new IsochronError('CONNECTION_LOST', 'why');
    const writes = [{ key: 'default/a', value: '1' }];
    const ust = api.node.ust();
    client.send({
      type: 'commit',
      id: 1,
      tx: TX_ID,
      snapshot: ust,
      hwt: 0,
      sentAfter: ust,
      attemptRegions: ['virginia'],
      writes,
    });
    expect(await client.answer(1)).toMatchObject({ type: 'error', code: 'OUTCOME_UNKNOWN', retryable: true });
    client.close();
  });
});

describe('a repeated patch, under a protocol without updates', () => {
  it('a repeated patch is not merged into its own pending result', async () => {
    await api.close();
    api = await startApi({ cluster: new TestCluster(testConfig('wren')) });
    const pending: TxStatusResp = { type: 'TxStatusResp', ref: 0, status: 'pending', ts: null, attempt: 0 };
    api.node.handlers.TxStatusReq = (_request, done) => done(pending);
    const answer = await api.call('PATCH', '/v1/keyspaces/default/keys/a', {
      body: { n: 1 },
      headers: { 'idempotency-key': TX_ID },
    });
    expect(answer.json()).toMatchObject({ code: 'OUTCOME_PENDING', retryable: true });
  });
});

describe('the status of a session', () => {
  it('the status of a session takes the sentAfter into account', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    client.send({ type: 'status', id: 1, tx: TX_ID, sentAfter: 1 });
    client.send({ type: 'status', id: 2, tx: TX_ID });
    expect(await client.answer(1)).toEqual({ type: 'status', id: 1, status: 'forgotten', ts: null });
    expect(await client.answer(2)).toEqual({ type: 'status', id: 2, status: 'unknown', ts: null });
    client.close();
  });
});
