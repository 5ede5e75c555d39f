import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sessionUrl } from '@isochron/client/link/endpoints';
import { pack, unpack } from 'msgpackr';
import { WebSocket, WebSocketServer } from 'ws';
import { client, closeAll, clusterOf, codeOf, deferred, server, statusOf, tokenOf } from '../testing/harness.js';
import { type ClientStatus, connect, type SocketEvent, type Transaction, type WebSocketLike } from './index.js';
import { msgpack } from './msgpack.js';

afterEach(closeAll);

const writeThree = (tx: Transaction): void => {
  for (const key of ['a', 'b', 'c']) tx.set(key, 1);
};

const messageOf = async (failing: Promise<unknown>): Promise<string> =>
  failing.then(
    () => 'it did not fail',
    (error: unknown) => (error as Error).message,
  );

describe('connect', () => {
  it('connect keeps the endpoint with the shortest round trip and closes the others', async () => {
    const cluster = clusterOf({ regions: ['far', 'near'] });
    const [far, near] = [await server(cluster, { region: 'far' }), await server(cluster, { region: 'near' })];
    // The far one is there first, and takes long to answer; the near one opens only then, and answers at once.
    const [ping, hello] = [deferred(), deferred()];
    far.script = (frame) => {
      if (frame.type !== 'ping') return undefined;
      setTimeout(ping.resolve, 40);
      return ping.promise.then(hello.resolve).then(() => undefined);
    };
    near.script = (frame) => (frame.type === 'hello' ? hello.promise : undefined);
    const app = await client([far, near]);
    expect(app.status).toMatchObject({ state: 'online', region: 'near', node: 'near-1', ust: cluster.ust });
    expect(app.status.rttMs).toBeGreaterThan(0);
    await far.until(() => far.connections === 0);
  });

  it('connect takes an endpoint that answers when another one refuses', async () => {
    const [gone, node] = [await server(), await server()];
    await gone.close();
    expect((await client([gone, node])).status.state).toBe('online');
  });

  it('connect rejects with CONNECTION_LOST when none can be reached, and with the refusal of the cluster', async () => {
    const [gone, node] = [await server(), await server()];
    await gone.close();
    expect(await codeOf(client([gone]))).toBe('CONNECTION_LOST');
    for (const code of ['UNAUTHENTICATED', 'TOKEN_FOREIGN']) {
      node.script = () => ({ type: 'error', code, detail: '', retryable: false });
      expect(await codeOf(client([gone, node], { token: 'x' }))).toBe(code);
    }
  });

  it('the text and the cause of a failed connect have the reason of each endpoint', async () => {
    const [gone, web, silent] = [await server(), createServer((_, answer) => answer.end('a page')), await server()];
    await gone.close();
    silent.script = () => 'drop';
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    const page = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
    const endpoints = [gone.url, page, silent.url];
    const connecting = connect({ endpoints, connectTimeoutMs: 2000, WebSocket });
    const error: unknown = await connecting.catch((reason: unknown) => reason);
    web.close();
    expect(error).toMatchObject({ code: 'CONNECTION_LOST', message: expect.stringContaining('ECONNREFUSED') });
    const { message, cause } = error as { message: string; cause: { errors: { code: string }[] } };
    expect(message).toContain('did not answer within 2000 ms');
    expect(message).toContain('Unexpected server response: 200');
    for (const url of endpoints) expect(message).toContain(sessionUrl(url));
    expect(cause.errors.map(({ code }) => code)).toEqual(Array(3).fill('CONNECTION_LOST'));
  });

  it('a socket that gives no reason, as in browsers, is explained by what may be wrong', async () => {
    class Refused implements WebSocketLike {
      binaryType = '';
      send(): void {}
      close(): void {}
      addEventListener(type: string, listener: (event: SocketEvent) => void): void {
        if (type === 'close') queueMicrotask(() => listener({ code: 1006, reason: '' }));
      }
    }
    const options = { endpoints: ['https://app.example'], WebSocket: Refused };
    const message = await messageOf(connect(options));
    expect(message).toMatch(/wss:\/\/app\.example\/v1\/session cannot be reached: no node answers, or a proxy/);
  });

  it('a refused origin is ORIGIN_NOT_ALLOWED, with the reason of the node', async () => {
    const node = await server();
    node.script = (_, socket) => {
      node.closeSocket(socket, 4403, 'ORIGIN_NOT_ALLOWED: pages of "https://other.example" may not call');
      return 'drop';
    };
    const error: unknown = await client([node]).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ORIGIN_NOT_ALLOWED', message: expect.stringContaining('other.example') });
  });

  it('a platform without secure randomness is PLATFORM_UNSUPPORTED, before anything is opened', async () => {
    const node = await server();
    const { crypto } = globalThis;
    Object.defineProperty(globalThis, 'crypto', { value: undefined, configurable: true });
    const error: unknown = await client([node]).catch((reason: unknown) => reason);
    Object.defineProperty(globalThis, 'crypto', { value: crypto, configurable: true });
    expect(error).toMatchObject({ code: 'PLATFORM_UNSUPPORTED', message: expect.stringContaining('getRandomValues') });
    expect(node.connections).toBe(0);
  });

  it('a request that misses its time without a node has the reasons of the endpoints', async () => {
    const node = await server();
    const app = await client([node], { requestTimeoutMs: 300 });
    await node.close();
    const error: unknown = await app.get('a').catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'OFFLINE', message: expect.stringContaining('ECONNREFUSED') });
  });

  it('connect gives up an endpoint that sends nothing', async () => {
    const node = await server();
    node.script = () => 'drop';
    expect(await codeOf(client([node], { connectTimeoutMs: 20 }))).toBe('CONNECTION_LOST');
    await node.until(() => node.connections === 0);
  });

  it('connect ends when its signal fires', async () => {
    const node = await server();
    node.script = () => 'drop';
    const controller = new AbortController();
    const connecting = client([node], { signal: controller.signal });
    await node.until(() => node.received('hello').length === 1);
    controller.abort(new Error('enough'));
    await expect(connecting).rejects.toThrow('enough');
  });

  it('connect puts token and credentials in the first frame, not in the URL', async () => {
    const node = await server();
    const { token } = (await client([node])).session;
    await node.until(() => node.received('ping').length === 1);
    const before = node.frames.length;
    await client([node], { token, credentials: 'secret-key' });
    expect(token).toEqual(expect.any(String));
    expect(node.frames[before]).toMatchObject({ type: 'hello', token, credentials: 'secret-key' });
  });

  it('connect finds a WebSocket class by itself', async () => {
    const node = await server();
    const app = await connect({ endpoints: [node.url] });
    expect(await app.get('a')).toBeUndefined();
    await app.close();
  });

  it('connect refuses endpoints that are no URLs, and names that no keyspace can have', async () => {
    for (const endpoints of [[], ['nonsense'], ['ftp://host']])
      expect(await codeOf(connect({ endpoints }))).toBe('INVALID_REQUEST');
    const app = await client([await server()]);
    expect(() => app.keyspace('a/b')).toThrow(expect.objectContaining({ code: 'KEYSPACE_UNKNOWN' }));
  });

  it('connect makes the session address of a base URL', () => {
    expect(sessionUrl('https://eu.example/')).toBe('wss://eu.example/v1/session');
    expect(sessionUrl('http://h:1/base')).toBe('ws://h:1/base/v1/session');
    expect(sessionUrl('wss://h/v1/session')).toBe('wss://h/v1/session');
    expect(sessionUrl('HTTPS://DB.Example:443?x#y')).toBe('wss://db.example/v1/session');
    expect(sessionUrl('http://[::1]:7101/')).toBe('ws://[::1]:7101/v1/session');
    for (const base of ['db.example', 'ftp://h', 'http://', 'http://a b', 'http://user:word@h', 'http://h:70000'])
      expect(() => sessionUrl(base)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST' }));
  });
});

describe('the connection', () => {
  it('the connection sets no timer that is longer than timers can be, however long a node asks it to stay away', async () => {
    const node = await server();
    // The client sets no timer for the age of stable time.
    node.sends = (frame) => {
      if (frame.type !== 'welcome') return frame;
      const { stalenessAlertMs: _, ...welcome } = frame;
      return welcome;
    };
    const app = await client([node], { requestTimeoutMs: 40 });
    const timers = jest.spyOn(globalThis, 'setTimeout');
    try {
      node.push({ type: 'goaway', reason: 'maintenance', delayMs: 2 ** 40 });
      await node.until(() => node.connections === 0);
      // Once this call has failed, nothing waits.
      expect(await codeOf(app.get('a'))).toBe('OFFLINE');
      const delays = timers.mock.calls.map(([, delayMs = 0]) => delayMs);
      expect(Math.max(...delays)).toBe(2 ** 31 - 1);
    } finally {
      timers.mockRestore();
    }
  });

  it('the connection packs what one turn asks for into one message', async () => {
    const node = await server();
    const app = await client([node]);
    await node.until(() => node.received('ping').length === 1);
    const before = node.packing.length;
    await Promise.all(Array.from({ length: 20 }, (_, i) => app.get(`k${i}`)));
    expect(node.packing.slice(before)).toEqual([20]);
  });

  it('the connection keeps to the credits, and sends the rest as answers come in', async () => {
    const node = await server(undefined, { credits: 3 });
    const app = await client([node]);
    let [inFlight, most] = [0, 0];
    node.script = (frame) => {
      if (frame.type !== 'read') return undefined;
      most = Math.max(most, ++inFlight);
      return new Promise((resolve) => setImmediate(() => resolve(void inFlight--)));
    };
    await Promise.all(Array.from({ length: 20 }, (_, i) => app.get(`k${i}`)));
    expect(node.received('read').length).toBe(20);
    expect(most).toBe(3);
  });

  it('the connection opens a transaction with a single credit', async () => {
    const node = await server(undefined, { credits: 1 });
    const app = await client([node]);
    const { write } = await app.transaction(async (tx) => tx.set('a', (await tx.get('b')) ?? 1));
    expect(write?.timestamp).toBe(node.cluster.clock);
    expect(Math.max(...node.packing)).toBe(1);
  });

  it('the connection splits messages at the size that the server accepts, and refuses what is larger on its own', async () => {
    const node = await server(undefined, { limits: { maxRequestBytes: 2000 } });
    const app = await client([node]);
    const keys = Array.from({ length: 30 }, (_, i) => `${i}`.padStart(100, 'k'));
    await node.until(() => node.received('ping').length === 1);
    const before = node.packing.length;
    await Promise.all(keys.map((key) => app.get(key)));
    expect(node.packing.length - before).toBeGreaterThan(1);
    expect(await codeOf(app.set('a', 'x'.repeat(3000)))).toBe('REQUEST_TOO_LARGE');
    await app.set('a', 'x'.repeat(1000));
  });

  it('the connection checks the limits of the cluster before it sends', async () => {
    const node = await server(undefined, { limits: { maxKeyBytes: 8, maxValueBytes: 10, maxKeysPerRequest: 2 } });
    const app = await client([node]);
    const cyclic: { self?: object } = {};
    cyclic.self = cyclic;
    const refused: [string, Promise<unknown>][] = [
      ['KEY_INVALID', app.get('')],
      ['KEY_INVALID', app.get('123456789')],
      ['KEY_INVALID', app.get('\u00e9\u00e9\u00e9\u00e9\u00e9')],
      ['KEY_INVALID', app.get('\ud800')],
      ['KEY_INVALID', app.collection('1234567').get('1')],
      ['KEY_INVALID', app.collection('c').get('')],
      ['TOO_MANY_KEYS', app.getMany(['a', 'b', 'c'])],
      ['TOO_MANY_KEYS', app.transaction(writeThree)],
      ['VALUE_TOO_LARGE', app.set('a', 'x'.repeat(9))],
      ['VALUE_TOO_LARGE', app.set('a', '\u20ac\u20ac\u20ac')],
      ['VALUE_TOO_LARGE', app.set('a', new Uint8Array(11))],
      ['VALUE_INVALID', app.set('a', undefined)],
      ['VALUE_INVALID', app.set('a', () => 1)],
      ['VALUE_INVALID', app.set('a', 1n)],
      ['VALUE_INVALID', app.set('a', cyclic)],
    ];
    for (const [code, promise] of refused) expect(await codeOf(promise)).toBe(code);
    expect([...node.received('read'), ...node.received('commit')]).toEqual([]);
    await app.set('12345678', '12345678');
    await app.set('a', new Uint8Array(10));
  });

  it('the connection moves to another endpoint on goaway, and the old one answers the requests that it has', async () => {
    const cluster = clusterOf();
    const [east, west] = [await server(cluster), await server(cluster, { region: 'oregon' })];
    const app = await client([east, west]);
    const [home, other] = app.status.region === 'virginia' ? [east, west] : [west, east];
    const held = deferred();
    home.script = (frame) => (frame.type === 'commit' ? held.promise : undefined);
    const write = app.set('a', 1);
    await home.until(() => home.received('commit').length === 1);
    const moved = statusOf(app, ({ region }) => region === other.region);
    home.push({ type: 'goaway', reason: 'restart', delayMs: 60_000 });
    await moved;
    await app.get('b');
    expect(other.received('read').length).toBe(1);
    held.resolve();
    await write;
    expect(other.received('commit')).toEqual([]);
    await home.until(() => home.connections === 0);
  });

  it('the connection learns other endpoints from the welcome, and uses them when its own is gone', async () => {
    const cluster = clusterOf();
    const other = await server(cluster, { region: 'oregon' });
    const node = await server(cluster, { regions: [{ id: 'oregon', endpoints: [other.url, 'nonsense'] }] });
    const app = await client([node]);
    await node.close();
    expect(await app.get('a')).toBeUndefined();
    expect(app.status.region).toBe('oregon');
    expect(other.received('hello')[0]?.token).toBe(tokenOf(node));
  });

  it('the connection does not go on in another cluster', async () => {
    const cluster = clusterOf();
    const foreign = await server(clusterOf(), { clusterId: 'foreign', region: 'oregon' });
    const node = await server(cluster, { regions: [{ id: 'oregon', endpoints: [foreign.url] }] });
    const app = await client([node], { requestTimeoutMs: 60 });
    await node.close();
    expect(await codeOf(app.get('a'))).toBe('OFFLINE');
    expect(foreign.received('read')).toEqual([]);
  });

  it('the connection returns to its only endpoint, with the requests that waited meanwhile', async () => {
    const node = await server();
    const app = await client([node]);
    const states: ClientStatus['state'][] = [];
    const unsubscribe = app.on('status', ({ state }) => {
      if (states.at(-1) !== state) states.push(state);
    });
    node.cut();
    await node.until(() => node.received('hello').length === 2);
    expect(await app.get('a')).toBeUndefined();
    expect(states).toEqual(['offline', 'online']);
    unsubscribe();
    await app.close();
    expect(states.at(-1)).toBe('online');
  });

  it('the status shows the stable time that the server reports', async () => {
    const node = await server();
    const app = await client([node]);
    await app.set('a', 1);
    const reported = node.cluster.clock + 1;
    const shown = statusOf(app, ({ ust }) => ust === reported);
    node.push({ type: 'ust', ust: reported, freshness: node.freshness() });
    await shown;
    expect(app.session.export().writes).toEqual([]);
  });

  it('the connection sends MessagePack with an encoder that it is given, bytes as bytes', async () => {
    const [app, frames, close] = await msgpackPair();
    expect(await Promise.all([app.get('a'), app.get('b')])).toEqual([{ n: 1 }, new Uint8Array([1, 2])]);
    await app.set('c', new Uint8Array([3]));
    expect(frames.at(-1)).toMatchObject({ type: 'commit', writes: [{ value: new Uint8Array([3]) }] });
    await close();
  });
});

/** A small server that supports MessagePack only. */
async function msgpackPair() {
  const frames: { type: string; id: number; keys: string[] }[] = [];
  const listener = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: ([first]) => first ?? false });
  const template = await server();
  await client([template]);
  const welcome = template.answers('welcome')[0]!;
  const values = new Map<string, unknown>([
    ['default/a', '{"n":1}'],
    ['default/b', new Uint8Array([1, 2])],
  ]);
  const answer = ({ type, id, keys }: (typeof frames)[number]): object => {
    if (type === 'hello') return welcome;
    if (type === 'ping') return { type: 'pong', id };
    if (type === 'commit') return { type: 'committed', id, ts: welcome.ust + 1 };
    return { type: 'values', id, snapshot: welcome.ust, values: keys.map((key) => [1, values.get(key)]) };
  };
  listener.on('connection', (socket) => {
    socket.on('message', (data: Buffer) => {
      const message: unknown = unpack(data);
      const received = (Array.isArray(message) ? message : [message]) as typeof frames;
      frames.push(...received.map((frame) => ({ ...frame })));
      socket.send(pack(received.map(answer)));
    });
  });
  const { port } = listener.address() as { port: number };
  const app = await client([], { endpoints: [`ws://127.0.0.1:${port}`], codec: msgpack({ pack, unpack }) });
  const close = async () => {
    await app.close();
    await new Promise((resolve) => listener.close(resolve));
  };
  return [app, frames, close] as const;
}
