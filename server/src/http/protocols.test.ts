/** The API under protocols whose snapshots have more than a timestamp, and under those without some operations. */
import { packWall, type StoredVersion, type Timestamp } from '@isochron/core';
import type { ProtocolName } from '@isochron/protocols/session-rules';
import { SessionClient } from '../../testing/session-client.js';
import { SECRET, startApi, type TestApi } from '../../testing/test-api.js';
import { TestCluster, testConfig } from '../../testing/test-cluster.js';
import { sessionTokens } from '../session/tokens.js';

const KEYS = '/v1/keyspaces/default/keys';
const refs = (...keys: string[]) => keys.map((key) => ({ keyspace: 'default', key }));

const toClose: { close(): PromiseLike<unknown> }[] = [];
afterEach(async () => {
  for (const part of toClose.splice(0)) await part.close();
});

async function under(protocol: ProtocolName): Promise<TestApi> {
  const api = await startApi({ cluster: new TestCluster(testConfig(protocol)) });
  toClose.push(api);
  return api;
}
const lastCall = (api: TestApi) => api.node.calls.at(-1)?.request;
/** The snapshot, or the dependencies, in the coordinator's last answer: virginia's entry is the newest, its clock's. */
function lastSeen(api: TestApi): { snapshot: Timestamp; deps: [Timestamp, Timestamp] } {
  const answer = api.node.answers.at(-1) as { snapshot: Timestamp; deps: [Timestamp, Timestamp] };
  expect(answer.deps[0]).toBeGreaterThan(answer.deps[1]);
  return { snapshot: answer.snapshot, deps: answer.deps };
}

describe('a cluster whose snapshots are vectors', () => {
  const tokens = sessionTokens({ secret: SECRET }, testConfig('cure'));
  let api: TestApi;
  let ust: Timestamp;
  beforeEach(async () => {
    api = await under('cure');
    api.cluster.put('default/a', '1');
    api.cluster.put('default/b', '2');
    api.cluster.stabilise();
    ust = api.node.ust();
  });
  const seenBy = (token: unknown) => tokens.decode(String(token), api.node.latest()).seen;

  describe('over HTTP', () => {
    it("a token signs all entries of a caller's snapshot, and the next read is of no older one", async () => {
      const first = await api.call('GET', `${KEYS}/a`);
      const token = String(first.headers['isochron-session']);
      const { snapshot, deps } = lastSeen(api);
      expect(seenBy(token)).toEqual({ ts: snapshot, deps });
      expect(first.headers['isochron-snapshot']).toBe(String(snapshot));
      await api.call('POST', '/v1/read', { body: { keys: refs('a') }, headers: { 'isochron-session': token } });
      expect(lastCall(api)).toMatchObject({ at: null, ust: snapshot, deps });
    });

    it('a token signs the dependencies of a commit', async () => {
      const written = await api.call('PUT', `${KEYS}/c`, { body: { n: 1 } });
      const { timestamp } = written.json() as { timestamp: Timestamp };
      expect(lastSeen(api).deps[0]).toBe(timestamp);
      expect(seenBy(written.headers['isochron-session'])).toEqual({ ts: timestamp, deps: lastSeen(api).deps });
    });

    it('a one-shot write commits with the snapshot that its caller has seen', async () => {
      const read = await api.call('GET', `${KEYS}/a`);
      const headers = { 'isochron-session': String(read.headers['isochron-session']) };
      const seen = lastSeen(api);
      await api.call('PUT', `${KEYS}/c`, { body: { n: 1 }, headers });
      expect(lastCall(api)).toMatchObject(seen);
      // Outcomes below this are forgotten: it is the stable time, not the caller's snapshot.
      await api.call('PUT', `${KEYS}/c`, { body: { n: 1 } });
      expect(lastCall(api)).toMatchObject({ snapshot: 0, sentAfter: ust });
    });

    it('the id of a transaction names the whole snapshot, so that another node continues in it (D8)', async () => {
      const opened = await api.call('POST', '/v1/transactions');
      const path = String(opened.headers.location);
      const { snapshot, deps } = lastSeen(api);
      api.cluster.loseTransactions();
      const seen = await api.call('POST', `${path}/read`, { body: { keys: refs('a') } });
      expect(seen.json()).toMatchObject({ values: [{ value: 1 }] });
      expect(lastCall(api)).toMatchObject({ txId: null, at: snapshot, deps });
      const done = await api.call('POST', `${path}/commit`, { body: { writes: [{ ...refs('c')[0], value: 1 }] } });
      expect(done.status).toBe(200);
      expect(lastCall(api)).toMatchObject({ snapshot, deps, sentAfter: snapshot });
    });

    it('a commit depends on what its caller has seen by then, also where its transaction has not read that', async () => {
      const opened = await api.call('POST', '/v1/transactions');
      const { snapshot, deps } = lastSeen(api);
      const commit = async (headers: Record<string, string>) => {
        const body = { writes: [{ ...refs('c')[0], value: 1 }] };
        await api.call('POST', `${String(opened.headers.location)}/commit`, { body, headers });
        return lastCall(api);
      };
      const token = tokens.mint({ seen: { ts: snapshot, deps: [deps[0] - 9, deps[1] + 3] }, hwt: ust });
      const merged = { snapshot, deps: [deps[0], deps[1] + 3] };
      expect(await commit({ 'isochron-session': token })).toMatchObject(merged);
      const old = tokens.mint({ seen: { ts: snapshot - 1, deps: [deps[0] - 9, deps[1] - 8] }, hwt: 0 });
      expect(await commit({ 'isochron-session': old })).toMatchObject({ snapshot: null });
    });

    it('ids with too few entries, or with entries from the future, are refused', async () => {
      const ahead = packWall(api.node.now() + 3_600_000);
      const id = (entries: number[]) =>
        `${'a'.repeat(22)}-A0.0@virginia-1@${entries.map((entry) => entry.toString(36)).join('.')}`;
      const code = async (entries: number[]) => {
        const answer = await api.call('POST', `/v1/transactions/${id(entries)}/read`, { body: { keys: refs('a') } });
        return answer.json().code;
      };
      expect(await code([ust])).toBe('TRANSACTION_UNKNOWN');
      expect(await code([ust, 1, 2, 3])).toBe('TRANSACTION_UNKNOWN');
      expect(await code([ust, 1, ahead])).toBe('TIMESTAMP_IN_FUTURE');
    });

    it('a listing reads every page in the same snapshot, with all its entries', async () => {
      const first = await api.call('GET', `${KEYS}?limit=1`);
      const cursor = String(first.json().cursor);
      const { snapshot, deps } = lastSeen(api);
      api.cluster.pass(50);
      const second = await api.call('GET', `${KEYS}?cursor=${cursor}`);
      expect(second.json()).toMatchObject({ snapshot, entries: [{ key: 'b' }] });
      expect(lastCall(api)).toMatchObject({ at: snapshot, deps });
    });

    it.each([
      ['without entries', (fields: unknown[]) => fields.slice(0, 6)],
      ['with too many', (fields: unknown[]) => [...fields.slice(0, 6), [1, 2, 3]]],
      ['with an entry that is not a timestamp', (fields: unknown[]) => [...fields.slice(0, 6), [1, 'x']]],
    ])('a cursor is refused %s', async (_what, change) => {
      const { cursor } = (await api.call('GET', `${KEYS}?limit=1`)).json();
      const fields = JSON.parse(Buffer.from(String(cursor), 'base64url').toString()) as unknown[];
      const changed = Buffer.from(JSON.stringify(change(fields))).toString('base64url');
      expect((await api.call('GET', `${KEYS}?cursor=${changed}`)).json()).toMatchObject({ code: 'CURSOR_INVALID' });
    });

    it('a cursor from the future is refused (T1)', async () => {
      const { cursor } = (await api.call('GET', `${KEYS}?limit=1`)).json();
      const fields = JSON.parse(Buffer.from(String(cursor), 'base64url').toString()) as unknown[];
      fields[6] = [1, packWall(api.node.now() + 3_600_000)];
      const changed = Buffer.from(JSON.stringify(fields)).toString('base64url');
      expect((await api.call('GET', `${KEYS}?cursor=${changed}`)).json()).toMatchObject({
        code: 'TIMESTAMP_IN_FUTURE',
      });
    });

    it('an ETag names a version whole: another one of the same timestamp may still come', async () => {
      const { headers } = await api.call('GET', `${KEYS}/a`);
      const [{ ts, txId }] = api.cluster.stored().get('default/a') as [StoredVersion];
      expect(headers.etag).toBe(`"${ts}-${txId}"`);
      const again = await api.call('GET', `${KEYS}/a`, { headers: { 'if-none-match': String(headers.etag) } });
      expect(again.status).toBe(304);
    });
  });

  describe('over the WebSocket', () => {
    let client: SessionClient;
    beforeEach(async () => {
      client = await SessionClient.open(api.url);
    });
    afterEach(() => client.close());

    it('the welcome of a session has the snapshot that it has seen, and the stable time beside it', async () => {
      const token = tokens.mint({ seen: { ts: 900, deps: [900, 800] }, hwt: 0 });
      const welcome = await client.hello({ token });
      expect(welcome).toMatchObject({ protocol: 'cure', ust: 900, deps: [900, 800], stable: ust, hwt: 0 });
      client.send({ type: 'read', id: 1, keys: ['default/a'] });
      expect(await client.answer(1)).toMatchObject(lastSeen(api));
      expect(lastCall(api)).toMatchObject({ at: null, ust: 900, deps: [900, 800] });
    });

    it('every answer of a session has all entries, which a resumed transaction and its commit send back', async () => {
      await client.hello();
      const deps = [ust, ust - 7];
      client.send({ type: 'start', id: 1, tx: `${'s'.repeat(22)}.0`, at: ust, deps });
      expect(await client.answer(1)).toMatchObject({ type: 'started', snapshot: ust, deps });
      expect(lastCall(api)).toMatchObject({ at: ust, deps });
      client.send({ type: 'list', id: 2, keyspace: 'default', at: ust, deps });
      expect(await client.answer(2)).toMatchObject({ type: 'listed', snapshot: ust, deps });
      const writes = [{ key: 'default/c', value: '1' }];
      const commit = { tx: `${'s'.repeat(22)}.1`, hwt: 0, sentAfter: ust, attemptRegions: ['virginia'], writes };
      client.send({ type: 'commit', id: 3, snapshot: ust, deps, ...commit });
      const committed = await client.answer(3);
      expect(committed).toMatchObject({ type: 'committed', deps: [committed.ts, ust - 7] });
      expect(lastCall(api)).toMatchObject({ snapshot: ust, deps });
      expect(seenBy(committed.token)).toEqual({ ts: committed.ts, deps: [committed.ts, ust - 7] });
    });

    it.each([
      ['too few entries', { at: 1, deps: [1] }, 'INVALID_REQUEST'],
      ['too many entries', { at: 1, deps: [1, 2, 3] }, 'INVALID_REQUEST'],
      ['no list', { at: 1, deps: 'x' }, 'INVALID_REQUEST'],
      ['an entry that is not a timestamp', { at: 1, deps: [1, 0.5] }, 'INVALID_REQUEST'],
      ['entries of nothing', { deps: [1, 2] }, 'INVALID_REQUEST'],
      ['an entry from the future', { at: 1, deps: [1, packWall(Date.UTC(2027, 0, 1))] }, 'TIMESTAMP_IN_FUTURE'],
    ])('a session refuses a snapshot with %s', async (_what, fields, code) => {
      await client.hello();
      const before = api.node.calls.length;
      client.send({ type: 'read', id: 1, keys: ['default/a'], ...fields });
      expect(await client.answer(1)).toMatchObject({ type: 'error', code });
      expect(api.node.calls).toHaveLength(before);
    });
  });
});

describe('a cluster with one timestamp', () => {
  it('a cluster with one timestamp refuses requests with entries, and PaRiS answers without any', async () => {
    const api = await under('paris');
    const client = await SessionClient.open(api.url);
    const welcome = await client.hello();
    for (const field of ['deps', 'stable']) expect(welcome).not.toHaveProperty(field);
    client.send({ type: 'read', id: 1, keys: ['default/a'], at: 1, deps: [] });
    expect(await client.answer(1)).toMatchObject({ code: 'INVALID_REQUEST' });
    client.send({ type: 'read', id: 2, keys: ['default/a'] });
    expect(await client.answer(2)).not.toHaveProperty('deps');
    const cursor = Buffer.from(JSON.stringify([1, 'default', '', 1, 'a', null, [1]])).toString('base64url');
    expect((await api.call('GET', `${KEYS}?cursor=${cursor}`)).json()).toMatchObject({ code: 'CURSOR_INVALID' });
    client.close();
  });
});

describe('a protocol without snapshots', () => {
  it('a protocol without snapshots reports that, and refuses reads of the past on every route', async () => {
    const api = await under('nocc');
    const { capabilities } = (await api.call('GET', '/v1/cluster')).json();
    expect(capabilities).toEqual(['transactions', 'list', 'stable', 'chained-commits']);
    const refused = { status: 501, code: 'NOT_SUPPORTED_BY_PROTOCOL', retryable: false };
    expect((await api.call('GET', `${KEYS}/a?at=1`)).json()).toMatchObject(refused);
    expect((await api.call('GET', `${KEYS}?at=1`)).json()).toMatchObject(refused);
    const read = await api.call('POST', '/v1/read', { body: { keys: refs('a'), at: 1 } });
    expect(read.json()).toMatchObject(refused);
    expect((await api.call('POST', '/v1/transactions', { body: { at: 1 } })).json()).toMatchObject(refused);
    const client = await SessionClient.open(api.url);
    await client.hello();
    client.send({ type: 'read', id: 1, keys: ['default/a'], at: 1 });
    expect(await client.answer(1)).toMatchObject({ code: 'NOT_SUPPORTED_BY_PROTOCOL' });
    client.close();
  });
});

describe('a protocol without updates', () => {
  it('a protocol without updates refuses operations and claims on every route', async () => {
    const api = await under('wren');
    const refused = { status: 501, code: 'NOT_SUPPORTED_BY_PROTOCOL', retryable: false };
    const operations = [{ op: 'increment', path: '/n', by: 1 }];
    const headers = { 'content-type': 'application/vnd.isochron.operations+json' };
    const patch = await api.call('PATCH', `${KEYS}/a`, { body: JSON.stringify(operations), headers });
    expect(patch.json()).toMatchObject(refused);
    const commit = await api.call('POST', '/v1/commit', { body: { writes: [{ ...refs('a')[0], operations }] } });
    expect(commit.json()).toMatchObject(refused);
    expect((await api.call('POST', `${KEYS}/a/claim`, { body: { by: 1 } })).json()).toMatchObject(refused);
    const client = await SessionClient.open(api.url);
    await client.hello();
    const value = { operations: JSON.stringify(operations) };
    const order = { tx: 'abcdefghijklmnopqrstuv.0', snapshot: 0, hwt: 0, sentAfter: 0, attemptRegions: ['virginia'] };
    client.send({ type: 'commit', id: 1, ...order, writes: [{ key: 'default/a', value }] });
    client.send({ type: 'origin', id: 2, key: 'default/a', at: 1, tx: 'tx-of-a-claim-16.1' });
    for (const id of [1, 2]) expect(await client.answer(id)).toMatchObject({ code: 'NOT_SUPPORTED_BY_PROTOCOL' });
    client.close();
    expect(api.cluster.stored().size).toBe(0);
  });

  it('a protocol without updates reads, merges and writes a patch, and refuses to patch bytes', async () => {
    const api = await under('wren');
    api.cluster.put('default/a', '{"n":1}');
    api.cluster.put('default/bytes', new Uint8Array([1]));
    api.cluster.stabilise();
    await api.call('PATCH', `${KEYS}/a`, { body: { m: 2 } });
    expect(api.cluster.stored().get('default/a')?.at(-1)?.value).toBe('{"n":1,"m":2}');
    expect((await api.call('PATCH', `${KEYS}/bytes`, { body: {} })).status).toBe(415);
  });
});
