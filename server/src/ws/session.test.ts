import { CREDITS } from '@isochron/sessions';
import { SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import { SessionClient } from '../../testing/session-client.js';
import { SECRET, startApi, type TestApi } from '../../testing/test-api.js';
import { testConfig } from '../../testing/test-cluster.js';
import { sessionTokens } from '../session/tokens.js';

const TX_ID = 'abcdefghijklmnopqrstuv.0';
const tokens = sessionTokens({ secret: SECRET }, testConfig());
let api: TestApi;

beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

const commit = (id: number, writes: object[], more: object = {}) => ({
  type: 'commit',
  id,
  tx: `abcdefghijklmnopqrstuv.${id.toString(36)}`,
  snapshot: api.node.ust(),
  hwt: 0,
  sentAfter: api.node.ust(),
  attemptRegions: ['virginia'],
  writes,
  ...more,
});

describe.each([SESSION_SUBPROTOCOLS.json, SESSION_SUBPROTOCOLS.msgpack])('a session over %s', (protocol) => {
  const json = protocol === SESSION_SUBPROTOCOLS.json;
  const bytes = (...values: number[]) =>
    json ? { bytes: Buffer.from(values).toString('base64') } : new Uint8Array(values);
  /** Bytes arrive as Buffers, which compare by content only when made plain. */
  const plain = (value: unknown): unknown => (value instanceof Uint8Array ? new Uint8Array(value) : value);
  let client: SessionClient;
  beforeEach(async () => {
    client = await SessionClient.open(api.url, protocol);
  });
  afterEach(() => client.close());

  it('the welcome of a session has all that the client needs', async () => {
    expect(client.socket.protocol).toBe(protocol);
    expect(await client.hello({ client: 'test/1' })).toEqual({
      type: 'welcome',
      region: 'virginia',
      node: 'virginia-1',
      cluster: 'testing',
      protocol: 'paris',
      capabilities: expect.any(Array),
      ust: api.node.ust(),
      hwt: 0,
      freshness: { now: api.node.now(), stalenessMs: api.node.stalenessMs(), stale: false, heldBackBy: null },
      token: tokens.mint({ seen: { ts: api.node.ust() }, hwt: 0 }),
      credits: CREDITS,
      limits: { maxKeyBytes: 1024, maxValueBytes: 1048576, maxKeysPerRequest: 1000, maxRequestBytes: 8388608 },
      maxTransactionMs: 30_000,
      stalenessAlertMs: 10_000,
      regions: [
        { id: 'virginia', endpoints: ['http://127.0.0.1:7101', 'http://127.0.0.1:7102'] },
        { id: 'oregon', endpoints: ['http://127.0.0.1:7103'] },
      ],
    });
  });

  it('a session starts, reads, commits and asks for the outcome', async () => {
    const a = api.cluster.put('default/a', '{"x":1e+21}');
    const b = api.cluster.put('default/b', new Uint8Array([1, 255]));
    api.cluster.stabilise();
    await client.hello();
    const snapshot = api.node.ust();
    client.send({ type: 'start', id: 1, tx: TX_ID });
    client.send({ type: 'read', id: 2, tx: TX_ID, keys: ['default/a', 'default/none', 'default/b'] });
    expect(await client.answer(1)).toEqual({ type: 'started', id: 1, snapshot });
    const read = await client.answer(2);
    const values = read.values as ([number, unknown] | null)[];
    expect(read).toMatchObject({ type: 'values', snapshot });
    expect(values.map((entry) => entry && [entry[0], plain(entry[1])])).toEqual([
      [a, '{"x":1e+21}'],
      null,
      [b, bytes(1, 255)],
    ]);
    const writes = [
      { key: 'default/a', value: '[2]' },
      { key: 'eu/b', value: bytes(7) },
      { key: 'default/b', value: null },
    ];
    const { snapshot: _, ...open } = commit(3, writes, { tx: TX_ID });
    client.send(open);
    const committed = await client.answer(3);
    expect(committed).toMatchObject({ type: 'committed', ts: api.cluster.outcomes.get(TX_ID) });
    expect(api.cluster.stored().get('eu/b')?.[0]?.value).toEqual(new Uint8Array([7]));
    expect(api.cluster.stored().get('default/b')?.[1]?.value).toBeNull();
    client.send({ type: 'status', id: 4, tx: TX_ID });
    expect(await client.answer(4)).toEqual({ type: 'status', id: 4, status: 'committed', ts: committed.ts });
  });

  it('a session lists keys', async () => {
    for (const key of ['b', 'a/2', 'a/1']) api.cluster.put(`default/${key}`, `"${key}"`);
    api.cluster.stabilise();
    await client.hello();
    client.send({ type: 'list', id: 1, keyspace: 'default', prefix: 'a/', limit: 1 });
    const first = await client.answer(1);
    expect(first).toMatchObject({ type: 'listed', next: 'a/2', entries: [['a/1', expect.any(Number), '"a/1"']] });
    client.send({ type: 'list', id: 2, keyspace: 'default', prefix: 'a/', start: 'a/2', at: first.snapshot });
    expect(await client.answer(2)).toMatchObject({ next: null, entries: [['a/2', expect.any(Number), '"a/2"']] });
  });

  it('a session aborts, waits for stable time and answers pings', async () => {
    await client.hello();
    client.send({ type: 'start', id: 1, tx: TX_ID });
    client.send({ type: 'abort', id: 2, tx: TX_ID });
    client.send({ type: 'status', id: 3, tx: TX_ID });
    expect(await client.answer(2)).toEqual({ type: 'aborted', id: 2 });
    expect(await client.answer(3)).toMatchObject({ status: 'unknown', ts: null });
    const ts = api.cluster.put('default/a', '1');
    client.send({ type: 'stable', id: 4, ts, timeoutMs: 1 });
    expect(await client.answer(4)).toMatchObject({ type: 'error', code: 'STABLE_TIMEOUT', retryable: true });
    client.send({ type: 'stable', id: 5, ts });
    client.send({ type: 'ping', id: 6 });
    await client.answer(6);
    api.cluster.stabiliseEverywhere();
    const { type, ust } = await client.answer(5);
    expect([type, Number(ust) >= ts]).toEqual(['stable', true]);
  });

  it('the request stable waits until every node serves the timestamp, not only this one', async () => {
    await client.hello();
    const ts = api.cluster.put('default/a', '1');
    api.cluster.stabilise('virginia');
    client.send({ type: 'stable', id: 1, ts, timeoutMs: 1 });
    expect(await client.answer(1)).toMatchObject({ type: 'error', code: 'STABLE_TIMEOUT' });
    client.send({ type: 'stable', id: 2, ts });
    client.send({ type: 'ping', id: 3 });
    await client.answer(3);
    api.cluster.stabiliseEverywhere();
    expect(await client.answer(2)).toMatchObject({ type: 'stable', ust: api.cluster.served });
  });

  it('a session answers many requests of one message in one message', async () => {
    await client.hello();
    const keys = ['default/a'];
    client.send(Array.from({ length: 64 }, (_, i) => ({ type: 'read', id: i + 1, keys })));
    await client.answer(64);
    expect(client.batches).toEqual([1, 64]);
    expect(client.frames.slice(1).map(({ id }) => id)).toEqual(Array.from({ length: 64 }, (_, i) => i + 1));
  });
});

describe('a session', () => {
  it('a session uses JSON for a client without a subprotocol, and refuses unknown subprotocols', async () => {
    const plain = await SessionClient.open(api.url, []);
    expect(await plain.hello()).toMatchObject({ type: 'welcome' });
    plain.close();
    await expect(SessionClient.open(api.url, 'isochron.v9+xml')).rejects.toThrow('subprotocol');
  });

  it('a session gets a token when its snapshot or dependencies change, and only then', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    const read = async (id: number) => {
      client.send({ type: 'read', id, keys: ['default/a'] });
      return (await client.answer(id)).token;
    };
    expect(await read(1)).toBeUndefined();
    client.send(commit(2, [{ key: 'default/a', value: '1' }]));
    const { ts, token } = await client.answer(2);
    expect(tokens.decode(String(token), api.node.latest())).toEqual({ seen: { ts: api.node.ust() }, hwt: ts });
    expect(await read(3)).toBeUndefined();
    api.cluster.stabilise();
    expect(tokens.decode(String(await read(4)), api.node.latest())).toEqual({ seen: { ts: api.node.ust() }, hwt: 0 });
    expect(await read(5)).toBeUndefined();
    client.close();
  });

  it('a session continues from its token: no snapshot lies below that of the token', async () => {
    const ust = api.node.ust() + 1000;
    const client = await SessionClient.open(api.url);
    expect(await client.hello({ token: tokens.mint({ seen: { ts: ust }, hwt: 0 }) })).toMatchObject({ ust });
    client.send({ type: 'read', id: 1, keys: ['default/a'] });
    await client.answer(1);
    expect(api.node.calls.at(-1)?.request).toMatchObject({ ust });
    client.close();
  });

  it('the welcome names the unstable last write of a token: a client with the token only has a gap', async () => {
    const ust = api.node.ust();
    const hello = async (claims: { ust: number; hwt: number }) => {
      const client = await SessionClient.open(api.url);
      const { hwt } = await client.hello({ token: tokens.mint({ seen: { ts: claims.ust }, hwt: claims.hwt }) });
      client.close();
      return hwt;
    };
    expect(await hello({ ust, hwt: ust + 7 })).toBe(ust + 7);
    expect(await hello({ ust: ust - 5, hwt: ust - 3 })).toBe(0);
  });

  it('a connection merges a token of another connection of its session, and refuses an invalid one', async () => {
    const ust = api.node.ust();
    const client = await SessionClient.open(api.url);
    await client.hello();
    client.send({ type: 'ping', id: 1, token: tokens.mint({ seen: { ts: ust }, hwt: ust + 7 }) });
    const { token } = await client.answer(1);
    expect(tokens.decode(String(token), api.node.latest())).toEqual({ seen: { ts: ust }, hwt: ust + 7 });
    client.send({ type: 'ping', id: 2, token: tokens.mint({ seen: { ts: ust - 5 }, hwt: ust + 3 }) });
    expect(await client.answer(2)).toEqual({ type: 'pong', id: 2 });
    client.send({ type: 'ping', id: 3, token: 'nonsense' });
    expect(await client.answer(3)).toMatchObject({ type: 'error', code: 'TOKEN_INVALID' });
    client.close();
  });

  it('a session is closed by a message of more frames than its credits could ever need', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    client.send(Array.from({ length: 2 * CREDITS + 1 }, () => ({ type: 'ping', id: 1 })));
    expect(await client.closed).toBe(4400);
    // One refusal, not one for each frame.
    expect(client.frames.slice(1)).toMatchObject([{ type: 'error', code: 'FRAME_INVALID' }]);
  });

  it('a session passes on the identity of a commit unchanged', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    const attemptRegions = ['oregon', 'virginia'];
    const frame = commit(1, [{ key: 'default/a', value: '1' }], {
      attemptRegions,
      hwt: 5,
      sentAfter: 4,
      snapshot: 3,
      tx: TX_ID,
    });
    client.send(frame);
    await client.answer(1);
    expect(api.node.calls.at(-1)?.request).toEqual({
      type: 'CommitReq',
      txId: TX_ID,
      snapshot: 3,
      hwt: 5,
      sentAfter: 4,
      attemptRegions,
      principal: 'anonymous',
      writes: [{ key: 'default/a', value: '1' }],
    });
    client.close();
  });

  it('a session passes on the regions that the attempts of a commit avoid, and refuses impossible ones', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    const writes = [{ key: 'default/a', value: '1' }];
    client.send(commit(1, writes, { avoids: [['oregon']] }));
    await client.answer(1);
    expect(api.node.calls.at(-1)?.request).toMatchObject({ attemptRegions: ['virginia'], avoids: [['oregon']] });
    const wrong = [
      [],
      [[], []],
      [['atlantis']],
      [['virginia', 'oregon']],
      [['oregon', 'oregon']],
      ['oregon'],
      [[1]],
      'oregon',
    ];
    for (const [i, avoids] of wrong.entries()) {
      client.send(commit(i + 2, writes, { avoids }));
      expect(await client.answer(i + 2)).toMatchObject({ type: 'error', code: 'INVALID_REQUEST' });
    }
    client.close();
  });

  it('a session receives at once which nodes and regions do not answer, and that they answer again', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    const unresponsive = { nodes: ['oregon-1'], regions: ['oregon'] };
    api.node.setUnresponsive(unresponsive);
    expect(await client.next((frame) => frame.unresponsive !== undefined)).toMatchObject({ type: 'ust', unresponsive });
    const other = await SessionClient.open(api.url);
    expect(await other.hello()).toMatchObject({ type: 'welcome', unresponsive });
    const before = client.frames.length;
    api.node.setUnresponsive({ nodes: [], regions: [] });
    const again = await client.next((frame) => client.frames.indexOf(frame) >= before);
    expect([again.type, again.unresponsive]).toEqual(['ust', undefined]);
    for (const one of [client, other]) one.close();
  });

  it('a session refuses requests beyond its credits and continues', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    const ts = api.cluster.put('default/a', '1');
    client.send(Array.from({ length: CREDITS + 1 }, (_, i) => ({ type: 'stable', id: i + 1, ts })));
    expect(await client.answer(CREDITS + 1)).toMatchObject({ code: 'CREDITS_EXHAUSTED', retryable: true });
    api.cluster.stabilise();
    expect(await client.answer(CREDITS)).toMatchObject({ type: 'stable' });
    client.send({ type: 'ping', id: 1000 });
    expect(await client.answer(1000)).toEqual({ type: 'pong', id: 1000 });
    client.close();
  });

  it('a session is closed by a message that is too large, and the node continues', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    client.sendRaw(JSON.stringify({ type: 'ping', id: 1, pad: 'x'.repeat(8 * 1024 * 1024) }));
    expect(await client.closed).toBe(1009);
    expect((await api.call('GET', '/livez')).status).toBe(200);
  });

  it('a session receives stable time when no other answer carries it', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    api.cluster.put('default/a', '1');
    api.cluster.stabilise();
    expect(await client.next(({ type }) => type === 'ust')).toMatchObject({ type: 'ust', ust: api.node.ust() });
    client.close();
  });

  it('a session is sent away with a delay when the node closes', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    await api.app.close();
    expect(await client.closed).toBe(1012);
    expect(client.frames.at(-1)).toEqual({ type: 'goaway', reason: expect.any(String), delayMs: expect.any(Number) });
  });

  it('a session receives a fault of the server without its details', async () => {
    const client = await SessionClient.open(api.url);
    await client.hello();
    api.node.failNext = new TypeError('/secret/path');
    client.send({ type: 'read', id: 1, keys: ['default/a'] });
    const error = await client.answer(1);
    expect(error).toMatchObject({ type: 'error', code: 'INTERNAL', retryable: true });
    expect(JSON.stringify(error)).not.toContain('secret');
    client.close();
  });
});
