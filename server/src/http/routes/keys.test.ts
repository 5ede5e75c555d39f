import { IsochronError, packWall, Update } from '@isochron/core';
import { startApi, type TestApi } from '../../../testing/test-api.js';

const KEYS = '/v1/keyspaces/default/keys';
const TX_ID = 'abcdefghijklmnopqrstuv-A0.0';
let api: TestApi;

beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

const put = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  api.call('PUT', path, { body, headers });
const session = (answer: { headers: Record<string, unknown> }) => ({
  'isochron-session': String(answer.headers['isochron-session']),
});

describe('GET of a key', () => {
  it('GET of a key answers the document as it was written, with the timestamp of its snapshot', async () => {
    const text = '{"b":1,"a":1e+21,"__proto__":0}';
    const ts = api.cluster.put('default/todos/1', text);
    api.cluster.stabilise();
    const answer = await api.call('GET', `${KEYS}/todos%2F1`);
    expect(answer.text).toBe(text);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      etag: `"${ts}"`,
      'isochron-commit-timestamp': String(ts),
      'isochron-snapshot': String(api.node.ust()),
      'isochron-staleness-ms': String(api.node.stalenessMs()),
      'isochron-session': expect.any(String),
    });
  });

  it('GET of a key takes a key with its slashes, too', async () => {
    api.cluster.put('default/todos/1/x', '1');
    api.cluster.stabilise();
    expect((await api.call('GET', `${KEYS}/todos/1/x`)).text).toBe('1');
    expect((await api.call('GET', `${KEYS}/todos%2F1/x`)).text).toBe('1');
  });

  it('GET of a key takes any character of Unicode', async () => {
    for (const key of ['a b', 'ü', '日本/😀', '%', 'a?b#c', '..', 'a+b']) {
      const path = `${KEYS}/${encodeURIComponent(key)}`;
      expect((await put(path, JSON.stringify(key), { 'content-type': 'application/json' })).status).toBe(200);
      api.cluster.stabilise();
      expect((await api.call('GET', path)).json()).toBe(key);
      expect(api.cluster.stored().has(`default/${key}`)).toBe(true);
    }
  });

  it('GET of a key answers 404 for a key that is absent or deleted', async () => {
    api.cluster.put('default/gone', '1');
    api.cluster.put('default/gone', null);
    api.cluster.stabilise();
    for (const key of ['gone', 'never']) {
      const answer = await api.call('GET', `${KEYS}/${key}`);
      expect(answer.status).toBe(404);
      expect(answer.json()).toMatchObject({ code: 'KEY_NOT_FOUND', type: '/errors/KEY_NOT_FOUND' });
      expect(answer.headers['isochron-snapshot']).toBe(String(api.node.ust()));
    }
  });

  it('GET of a key distinguishes a JSON null from an absent key', async () => {
    api.cluster.put('default/null', 'null');
    api.cluster.stabilise();
    expect(await api.call('GET', `${KEYS}/null`)).toMatchObject({ status: 200, text: 'null' });
  });

  it('GET of a key answers 304 to the ETag that it gave', async () => {
    api.cluster.put('default/a', '1');
    api.cluster.stabilise();
    const etag = String((await api.call('GET', `${KEYS}/a`)).headers.etag);
    for (const header of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const answer = await api.call('GET', `${KEYS}/a`, { headers: { 'if-none-match': header } });
      expect(answer).toMatchObject({ status: 304, text: '' });
      expect(answer.headers.etag).toBe(etag);
    }
    expect((await api.call('GET', `${KEYS}/a`, { headers: { 'if-none-match': '"1"' } })).status).toBe(200);
  });

  it('GET of a key reads the past with at', async () => {
    api.cluster.put('default/a', '1');
    api.cluster.stabilise();
    const then = api.node.ust();
    api.cluster.put('default/a', '2');
    api.cluster.stabilise();
    expect((await api.call('GET', `${KEYS}/a?at=${then}`)).text).toBe('1');
    expect((await api.call('GET', `${KEYS}/a`)).text).toBe('2');
    const ahead = await api.call('GET', `${KEYS}/a?at=${packWall(api.node.now() + 2_000)}`);
    expect(ahead.json()).toMatchObject({ code: 'SNAPSHOT_UNAVAILABLE', retryable: true });
  });

  it('GET of a key has HEAD beside it', async () => {
    api.cluster.put('default/a', '123');
    api.cluster.stabilise();
    expect(await api.call('HEAD', `${KEYS}/a`)).toMatchObject({ status: 200, text: '' });
  });

  it('GET of a key does not reveal the cause of an internal fault', async () => {
    api.node.failNext = new TypeError('/secret/path is undefined');
    const answer = await api.call('GET', `${KEYS}/a`);
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('secret');
    api.node.failNext = new IsochronError('REPLICA_UNREACHABLE', 'no node answers');
    expect((await api.call('GET', `${KEYS}/a`)).json()).toMatchObject({
      code: 'REPLICA_UNREACHABLE',
      status: 503,
      retryable: true,
    });
  });
});

describe('PUT, PATCH and DELETE of a key', () => {
  it('PUT stores the normal form of what was sent and answers when it is committed', async () => {
    const text = '{ "n": 1.10,\n "__proto__": 1 }';
    const answer = await put(`${KEYS}/a`, text, { 'content-type': 'application/json; charset=utf-8' });
    const ts = api.cluster.outcomes.get(String(answer.json().transaction));
    expect(answer.json()).toEqual({ transaction: expect.any(String), timestamp: ts });
    expect(answer.headers['isochron-commit-timestamp']).toBe(String(ts));
    expect(api.cluster.stored().get('default/a')).toMatchObject([{ ts, value: '{"n":1.1,"__proto__":1}' }]);
  });

  it('PUT stores bytes as bytes', async () => {
    const bytes = Buffer.from([0, 255, 1, 254]);
    await put(`${KEYS}/b`, bytes, { 'content-type': 'application/octet-stream' });
    api.cluster.stabilise();
    const answer = await api.call('GET', `${KEYS}/b`);
    expect(answer.headers['content-type']).toBe('application/octet-stream');
    expect(answer.body.equals(bytes)).toBe(true);
  });

  it('PUT commits with this region as home, the session’s clock and no more', async () => {
    await put(`${KEYS}/a`, {});
    expect(api.node.calls.at(-1)).toMatchObject({
      request: {
        type: 'CommitReq',
        attemptRegions: ['virginia'],
        hwt: 0,
        snapshot: api.node.ust(),
        sentAfter: api.node.ust(),
        principal: 'anonymous',
      },
    });
  });

  it('PUT writes once under one Idempotency-Key', async () => {
    const headers = { 'idempotency-key': TX_ID };
    const first = await put(`${KEYS}/a`, 1, headers);
    const second = await put(`${KEYS}/a`, 1, headers);
    expect(second.json()).toEqual(first.json());
    expect(first.json().transaction).toBe(TX_ID);
    expect(api.cluster.stored().get('default/a')).toHaveLength(1);
  });

  it('PUT dates a write with an Idempotency-Key back by the ten minutes in which it may be repeated (D5)', async () => {
    await put(`${KEYS}/a`, 1, { 'idempotency-key': TX_ID });
    expect(api.node.calls.at(-1)?.request).toMatchObject({ sentAfter: packWall(api.node.now() - 600_000) });
  });

  it('DELETE deletes a key', async () => {
    await put(`${KEYS}/a`, 1);
    expect((await api.call('DELETE', `${KEYS}/a`)).status).toBe(200);
    api.cluster.stabilise();
    expect((await api.call('GET', `${KEYS}/a`)).status).toBe(404);
  });

  it('PATCH stores a merge patch as an update, which merges as RFC 7396 specifies', async () => {
    api.cluster.put('default/a', '{"keep":1,"drop":2,"deep":{"x":1,"y":2},"list":[1,2]}');
    const patch = '{"drop":null,"deep":{"y":3,"z":{"q":null}},"list":[9],"__proto__":{"polluted":1}}';
    const answer = await api.call('PATCH', `${KEYS}/a`, {
      body: patch,
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    expect(answer.status).toBe(200);
    const stored = api.cluster.stored().get('default/a')?.at(-1)?.value;
    expect(stored).toEqual(new Update(`[{"op":"mergePatch","path":"","patch":${patch}}]`));
    expect(api.node.calls.map(({ request }) => request.type)).toEqual(['CommitReq']);
    api.cluster.stabilise();
    const { text } = await api.call('GET', `${KEYS}/a`);
    expect(text).toBe('{"keep":1,"deep":{"x":1,"y":3,"z":{}},"list":[9],"__proto__":{"polluted":1}}');
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it('two PATCHes of different fields both keep their edit, and the ETag is that of the later one', async () => {
    await api.call('PATCH', `${KEYS}/new`, { body: { a: 1, b: null } });
    const later = await api.call('PATCH', `${KEYS}/new`, { body: { c: 2 } });
    api.cluster.stabilise();
    const read = await api.call('GET', `${KEYS}/new`);
    expect(read.json()).toEqual({ a: 1, c: 2 });
    expect(read.headers.etag).toBe(`"${later.json().timestamp}"`);
  });

  it('PATCH takes operations, and stores their normal form', async () => {
    const text = '[ {"op":"increment","path":"/n","by":2}, {"op":"arrayUnion","path":"/tags","items":["x"]} ]';
    const headers = { 'content-type': 'application/vnd.isochron.operations+json' };
    const answer = await api.call('PATCH', `${KEYS}/a`, { body: text, headers });
    expect(answer.status).toBe(200);
    expect(api.cluster.stored().get('default/a')?.[0]?.value).toEqual(new Update(JSON.stringify(JSON.parse(text))));
    const own = await api.call('GET', `${KEYS}/a`, { headers: session(answer) });
    expect(own.json()).toEqual({ n: 2, tags: ['x'] });
  });

  it.each<[string, string, string]>([
    ['no JSON', '[', 'VALUE_INVALID'],
    ['an object', '{"op":"remove","path":""}', 'UPDATE_INVALID'],
    ['no operations', '[]', 'UPDATE_INVALID'],
    ['an operation of an unknown kind', '[{"op":"boil","path":""}]', 'UPDATE_INVALID'],
    ['a path that is no pointer', '[{"op":"remove","path":"a"}]', 'UPDATE_INVALID'],
    ['a member that the operation has not', '[{"op":"remove","path":"","by":1}]', 'UPDATE_INVALID'],
    ['too many levels', `[{"op":"init","value":${'['.repeat(200)}${']'.repeat(200)}}]`, 'VALUE_INVALID'],
    ['a lone surrogate', '[{"op":"init","value":"\\ud800"}]', 'VALUE_INVALID'],
    ['more than 1,000', `[${Array(1001).fill('{"op":"remove","path":""}').join()}]`, 'UPDATE_INVALID'],
  ])('PATCH refuses operations that are %s, and writes nothing', async (_what, body, code) => {
    const headers = { 'content-type': 'application/vnd.isochron.operations+json' };
    expect((await api.call('PATCH', `${KEYS}/a`, { body, headers })).json()).toMatchObject({ code, status: 400 });
    expect(api.cluster.stored().size).toBe(0);
  });

  it('a repeated PATCH is answered without merging again', async () => {
    const request = { body: { a: 1 }, headers: { 'idempotency-key': TX_ID } };
    const first = await api.call('PATCH', `${KEYS}/p`, request);
    await put(`${KEYS}/p`, { b: 1 });
    const second = await api.call('PATCH', `${KEYS}/p`, request);
    expect(second.json()).toEqual(first.json());
    expect(api.cluster.stored().get('default/p')).toHaveLength(2);
  });
});

describe('a session over one node', () => {
  it('a session over one node reads its own write before it is stable, and another caller does not', async () => {
    const wrote = await put(`${KEYS}/a`, 1);
    const own = await api.call('GET', `${KEYS}/a`, { headers: session(wrote) });
    expect(own).toMatchObject({ status: 200, text: '1' });
    // Of two writes with one timestamp the other may still win: there is no value to compare with later.
    expect(own.headers.etag).toBeUndefined();
    expect((await api.call('GET', `${KEYS}/a`)).status).toBe(404);
  });

  it('a session over one node reads its own deletion', async () => {
    api.cluster.put('default/a', '1');
    api.cluster.stabilise();
    const removed = await api.call('DELETE', `${KEYS}/a`);
    expect((await api.call('GET', `${KEYS}/a`, { headers: session(removed) })).status).toBe(404);
    expect((await api.call('GET', `${KEYS}/a`)).status).toBe(200);
  });

  it('a session over one node keeps all its writes over a chain of tokens, and orders them', async () => {
    const first = await put(`${KEYS}/a`, 1);
    const second = await put(`${KEYS}/b`, 2, session(first));
    expect(api.node.calls.at(-1)?.request).toMatchObject({ hwt: first.json().timestamp });
    const read = await api.call('GET', `${KEYS}/a`, { headers: session(second) });
    expect(read.text).toBe('1');
    expect((await api.call('GET', `${KEYS}/b`, { headers: session(read) })).text).toBe('2');
  });

  it('a session over one node never goes back in time with the token of an answer', async () => {
    api.cluster.stabilise();
    const read = await api.call('GET', `${KEYS}/a`);
    const seen = api.node.ust();
    api.node.shownUst = seen - 4096;
    await api.call('GET', `${KEYS}/a`, { headers: session(read) });
    expect(api.node.calls.at(-1)?.request).toMatchObject({ ust: seen });
  });

  it('a session over one node gets a plain token again once its writes are stable', async () => {
    const wrote = await put(`${KEYS}/a`, 1);
    api.cluster.stabilise();
    const read = await api.call('GET', `${KEYS}/b`, { headers: session(wrote) });
    const other = await api.call('GET', `${KEYS}/b`);
    expect(session(read)).toEqual(session(other));
  });

  it('a session over one node reads exactly the past that it asks for', async () => {
    const before = api.node.ust();
    const wrote = await put(`${KEYS}/a`, 1);
    expect((await api.call('GET', `${KEYS}/a?at=${before}`, { headers: session(wrote) })).status).toBe(404);
  });
});
