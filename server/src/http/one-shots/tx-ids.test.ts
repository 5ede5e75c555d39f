import { randomUUID } from 'node:crypto';
import { isTxId } from '@isochron/core';
import { SessionClient } from '../../../testing/session-client.js';
import { startApi, type TestAnswer, type TestApi } from '../../../testing/test-api.js';
import { parseTxId } from './tx-ref.js';

const [ANN, BOB] = ['key-of-ann', 'key-of-bob'] as const;
const PATH = '/v1/keyspaces/default/keys/a';
let api: TestApi;
beforeEach(async () => {
  api = await startApi({ apiKeys: [ANN, BOB] });
});
afterEach(() => api.close());

type Options = { readonly body?: unknown; readonly headers?: Record<string, string> };
const as = (key: string, method: string, path: string, { body, headers }: Options = {}): Promise<TestAnswer> => {
  const all = { ...headers, authorization: `Bearer ${key}` };
  return api.call(method, path, body === undefined ? { headers: all } : { body, headers: all });
};
const put = async (key: string, idempotencyKey?: string, body: unknown = {}): Promise<Record<string, unknown>> => {
  const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  return (await as(key, 'PUT', PATH, { body, headers })).json();
};
const open = async (key: string): Promise<string> => String((await as(key, 'POST', '/v1/transactions')).json().id);
const writes = { writes: [{ keyspace: 'default', key: 'a', value: 1 }] };
const keys = { keys: [{ keyspace: 'default', key: 'a' }] };

it('ids have 128 random bits each, and none can be derived from another', async () => {
  const ids = await Promise.all(Array.from({ length: 8 }, async () => String((await put(ANN)).transaction)));
  const parts = ids.map((id) => id.slice(0, 22));
  expect(new Set(parts).size).toBe(8);
  for (let at = 0; at < 21; at++) expect(new Set(parts.map((part) => part[at])).size).toBeGreaterThan(1);
  expect(ids.every(isTxId)).toBe(true);
});

it('the transaction of another principal is unknown: it is neither read, committed, ended nor looked up', async () => {
  const id = await open(ANN);
  for (const [method, path, body] of [
    ['POST', `/v1/transactions/${id}/read`, keys],
    ['POST', `/v1/transactions/${id}/commit`, writes],
    ['DELETE', `/v1/transactions/${id}`, undefined],
    ['GET', `/v1/transactions/${id}`, undefined],
  ] as const) {
    const answer = await as(BOB, method, path, body === undefined ? {} : { body });
    expect(answer.json()).toMatchObject({ code: 'TRANSACTION_UNKNOWN', status: 404 });
  }
  expect((await as(ANN, 'POST', `/v1/transactions/${id}/read`, { body: keys })).status).toBe(200);
  expect((await as(ANN, 'POST', `/v1/transactions/${id}/commit`, { body: writes })).status).toBe(200);
});

/** What a principal is told of an id, over HTTP and in a session. */
async function statusFor(key: string, id: string): Promise<unknown[]> {
  const client = await SessionClient.open(api.url);
  await client.hello({ credentials: key });
  client.send({ type: 'status', id: 1, tx: id });
  const { status, ts } = await client.next((frame) => frame.id === 1);
  client.close();
  const { code, timestamp, ...answer } = (await as(key, 'GET', `/v1/transactions/${id}`)).json();
  expect([code, answer.id, answer.status, timestamp]).toEqual([undefined, id, status, ts]);
  return [status, ts];
}

it('the bare id of an open transaction is unknown to another principal, as an unused id (U4)', async () => {
  const bare = (await open(ANN)).split('@')[0]!;
  expect(await statusFor(BOB, bare)).toEqual(['unknown', null]);
  expect(await statusFor(ANN, bare)).toEqual(['open', expect.any(Number)]);
});

it('a committed transaction has a status for its principal alone, whichever door it came through (U4)', async () => {
  const { transaction, timestamp } = await put(ANN);
  expect(await statusFor(ANN, String(transaction))).toEqual(['committed', timestamp]);
  expect(await statusFor(BOB, String(transaction))).toEqual(['unknown', null]);
  const client = await SessionClient.open(api.url);
  await client.hello({ credentials: ANN });
  const tx = `${'s'.repeat(22)}.0`;
  const writes = [{ key: 'default/a', value: '1' }];
  const order = { tx, snapshot: 0, hwt: 0, sentAfter: 0, attemptRegions: [api.node.region], writes };
  client.send({ type: 'commit', id: 1, ...order });
  const { ts } = await client.next((frame) => frame.id === 1);
  client.close();
  expect(await statusFor(ANN, tx)).toEqual(['committed', ts]);
  expect(await statusFor(BOB, tx)).toEqual(['unknown', null]);
});

it('an id that a reader of changes has seen is free for its own use, and takes nothing from its maker (U4)', async () => {
  const tx = `${'s'.repeat(22)}.1`;
  const commitAs = async (credentials: string, key: string) => {
    const client = await SessionClient.open(api.url);
    await client.hello({ credentials });
    const order = { tx, snapshot: 0, hwt: 0, sentAfter: 0, attemptRegions: [api.node.region] };
    client.send({ type: 'commit', id: 1, ...order, writes: [{ key: `default/${key}`, value: '1' }] });
    const answer = await client.next((frame) => frame.id === 1);
    client.close();
    return answer;
  };
  const [anns, bobs] = [await commitAs(ANN, 'of-ann'), await commitAs(BOB, 'of-bob')];
  expect([anns.type, bobs.type]).toEqual(['committed', 'committed']);
  expect(await statusFor(ANN, tx)).toEqual(['committed', anns.ts]);
  expect(await statusFor(BOB, tx)).toEqual(['committed', bobs.ts]);
});

it('the cursor of another principal shows none of the own writes of its listing', async () => {
  let headers: Record<string, string> = {};
  for (const key of ['l1', 'l2', 'l3']) {
    const answer = await as(ANN, 'PUT', `/v1/keyspaces/default/keys/${key}`, { body: { key }, headers });
    headers = { 'isochron-session': String(answer.headers['isochron-session']) };
  }
  const list = (key: string, query: string, more = {}) => as(key, 'GET', `/v1/keyspaces/default/keys?${query}`, more);
  const { cursor } = (await list(ANN, 'prefix=l&limit=1', { headers })).json() as { cursor: string };
  expect((await list(BOB, `cursor=${cursor}`)).json()).toMatchObject({ code: 'CURSOR_INVALID' });
  expect((await list(ANN, `cursor=${cursor}`)).json()).toMatchObject({ entries: [{ key: 'l2' }, { key: 'l3' }] });
});

it('the session token of another principal is refused, over HTTP and in a session', async () => {
  const token = String((await as(ANN, 'GET', PATH)).headers['isochron-session']);
  const headers = { 'isochron-session': token };
  expect((await as(ANN, 'GET', PATH, { headers })).status).toBe(404);
  for (const [method, path, body] of [
    ['GET', PATH, undefined],
    ['PUT', PATH, {}],
    ['GET', '/v1/keyspaces/default/keys', undefined],
    ['POST', '/v1/transactions', undefined],
  ] as const) {
    const answer = await as(BOB, method, path, body === undefined ? { headers } : { body, headers });
    expect([path, answer.json()]).toMatchObject([path, { code: 'TOKEN_INVALID', status: 400 }]);
  }
  for (const [credentials, welcomed] of [
    [ANN, 'welcome'],
    [BOB, 'error'],
  ] as const) {
    const client = await SessionClient.open(api.url);
    expect(await client.hello({ credentials, token })).toMatchObject({ type: welcomed });
    client.close();
  }
});

it('an Idempotency-Key is any text up to 255 bytes, and is each principal’s own', async () => {
  for (const key of [randomUUID(), '1', 'order 7', 'x'.repeat(255), `${'a'.repeat(22)}.0`]) {
    const first = await put(ANN, key);
    expect(first.transaction).toEqual(expect.any(String));
    expect(await put(ANN, key)).toEqual(first);
    const other = await put(BOB, key, { other: true });
    expect(other.transaction).not.toBe(first.transaction);
    expect(other.code).toBeUndefined();
  }
  for (const key of ['', 'x'.repeat(256)]) expect(await put(ANN, key)).toMatchObject({ code: 'INVALID_REQUEST' });
});

it('the id of a write can be repeated by its principal, and is another write for all other principals', async () => {
  const { transaction } = await put(ANN);
  expect(await put(ANN, String(transaction))).toMatchObject({ transaction });
  const other = await put(BOB, String(transaction));
  expect(other.transaction).not.toBe(transaction);
  const { transaction: keyed } = await put(ANN, 'order 8');
  expect(await put(ANN, String(keyed))).toMatchObject({ transaction: keyed });
});

it('a transaction that is committed is not ended: DELETE answers 409', async () => {
  const id = await open(ANN);
  const committed = (await as(ANN, 'POST', `/v1/transactions/${id}/commit`, { body: writes })).json();
  const answer = (await as(ANN, 'DELETE', `/v1/transactions/${id}`)).json();
  expect(answer).toMatchObject({ code: 'TRANSACTION_FINISHED', status: 409 });
  expect(answer.detail).toContain(String(committed.timestamp));
  const ended = await open(ANN);
  expect((await as(ANN, 'DELETE', `/v1/transactions/${ended}`)).status).toBe(204);
  expect((await as(ANN, 'DELETE', `/v1/transactions/${ended}`)).status).toBe(204);
});

it('the Idempotency-Key of a commit of an open transaction is its id', async () => {
  const id = await open(ANN);
  const { txId } = parseTxId(id, api.node.topology, 0)!;
  const commit = (key: string) =>
    as(ANN, 'POST', `/v1/transactions/${id}/commit`, { body: writes, headers: { 'idempotency-key': key } });
  expect((await commit('another')).json()).toMatchObject({ code: 'INVALID_REQUEST' });
  expect((await commit(txId)).status).toBe(200);
});
