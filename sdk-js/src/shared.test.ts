import { WebSocket } from 'ws';
import {
  client,
  closeAll,
  clusterOf,
  codeOf,
  deferred,
  type MemoryCluster,
  refusal,
  server,
  statusOf,
  type TestOptions,
} from '../testing/harness.js';
import type { WebSocketLike } from './options.js';
import { sharedWebSocket } from './shared.js';

afterEach(closeAll);

/** A server with shared sockets. */
const node = (cluster?: MemoryCluster, options = {}) => server(cluster, { shared: true, ...options });
/** The default of the SDK in Node: a class that shares sockets. */
const DEFAULT: TestOptions = { WebSocket: undefined };
type Server = Awaited<ReturnType<typeof node>>;
const sessions = (at: readonly Server[], count: number, options: TestOptions = {}) =>
  Promise.all(Array.from({ length: count }, () => client(at, { ...DEFAULT, ...options })));

describe('the sessions of a process in Node', () => {
  it('sessions share one socket, opened once for those that connect at the same time, and join it later', async () => {
    const at = await node();
    const apps = await sessions([at], 10);
    apps.push(await client([at], DEFAULT));
    expect([at.webSockets.size, at.connections]).toEqual([1, 11]);
    await Promise.all(apps.map((app, i) => app.set(`k${i}`, i)));
    at.cluster.stabilise();
    expect(await Promise.all(apps.map((app, i) => app.get(`k${(i + 1) % 11}`)))).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0,
    ]);
    expect(at.webSockets.size).toBe(1);
  });

  it('sessions share no socket with other credentials, which never leave in the URL', async () => {
    const at = await node();
    const urls: string[] = [];
    const keys = ['one', 'two', 'one', undefined];
    const apps = await Promise.all(keys.map((credentials) => client([at], { ...DEFAULT, credentials })));
    expect(at.webSockets.size).toBe(3);
    expect(
      at
        .received('hello')
        .map((hello) => hello.credentials)
        .sort(),
    ).toEqual(['one', 'one', 'two', undefined]);
    for (const socket of at.webSockets) urls.push(socket.url ?? '');
    expect(urls.join('')).not.toMatch(/one|two/);
    await Promise.all(apps.map((app) => app.get('a')));
  });

  it('sessions have sockets of their own with a WebSocket class of their own', async () => {
    const at = await node();
    await sessions([at], 3, { WebSocket });
    expect(at.webSockets.size).toBe(3);
  });

  it('sessions have sockets of their own at a server without shared sockets', async () => {
    const at = await server();
    const apps = await sessions([at], 4);
    apps.push(await client([at], DEFAULT));
    expect([at.webSockets.size, at.connections]).toEqual([5, 5]);
    expect(await Promise.all(apps.map((app) => app.get('a')))).toEqual(Array(5).fill(undefined));
    // It may be another server when it is back.
    at.cut();
    expect(await Promise.all(apps.map((app) => app.get('a')))).toEqual(Array(5).fill(undefined));
  });

  it('sessions each reject once when the socket that they wait for cannot be opened', async () => {
    const gone = await node();
    await gone.close();
    const codes = Array.from({ length: 3 }, () => codeOf(client([gone], DEFAULT)));
    expect(await Promise.all(codes)).toEqual(Array(3).fill('CONNECTION_LOST'));
  });

  it('sessions go on, each with what it had open, on another node when their socket is lost', async () => {
    const cluster = clusterOf();
    const [first, second] = [await node(cluster), await node(cluster, { region: 'oregon' })];
    cluster.seed('default/a', 1);
    // The second one is the nearer of the two only after the first has gone.
    second.script = (frame) =>
      frame.type === 'hello' && first.webSockets.size > 0 ? refusal(undefined, 'NOT_READY', true) : undefined;
    const apps = await sessions([first, second], 5);
    const [begun, goOn] = [deferred(), deferred()];
    let open = 0;
    const results = apps.map((app, i) =>
      app.transaction(async (tx) => {
        await tx.get('a');
        if (++open === apps.length) begun.resolve();
        await goOn.promise;
        tx.set(`k${i}`, await tx.get('a'));
      }),
    );
    await begun.promise;
    const online = apps.map((app) => statusOf(app, ({ region }) => region === 'oregon'));
    await first.close();
    await Promise.all(online);
    goOn.resolve();
    await Promise.all(results);
    expect(second.webSockets.size).toBe(1);
    expect(second.received('commit').length).toBe(5);
  });

  it('sessions leave a socket that is silent, all of them for one new socket', async () => {
    const at = await node();
    const apps = await sessions([at], 3, { requestTimeoutMs: 2000 });
    await Promise.all(apps.map((app) => app.get('a')));
    const before = [...at.webSockets];
    // Silent as a dead network: data sent to this socket gets no answer.
    const [dead] = before;
    dead!.send = () => {};
    await Promise.all(apps.map((app) => codeOf(app.get('a')).catch(() => '')));
    await Promise.all(apps.map((app) => statusOf(app, ({ state }) => state === 'online')));
    expect(await Promise.all(apps.map((app) => app.get('a')))).toEqual([undefined, undefined, undefined]);
    await at.until(() => !at.webSockets.has(dead!));
    expect(at.webSockets.size).toBe(1);
  });

  it('sessions that are ended by the server end alone', async () => {
    const at = await node();
    const [ended, other] = await sessions([at], 2);
    at.script = (frame) => (frame.type === 'read' && frame.keys[0] === 'default/end' ? 'close' : undefined);
    const got = ended!.get('end');
    await at.until(() => at.received('hello').length === 3);
    at.script = () => undefined;
    expect(await got).toBeUndefined();
    expect(await other!.get('a')).toBeUndefined();
    expect(at.received('hello').length).toBe(3);
    expect(at.webSockets.size).toBe(1);
  });

  it('sessions send what all of them ask for in a turn in one message', async () => {
    const at = await node();
    const apps = await sessions([at], 8);
    await at.until(() => at.received('ping').length === 8);
    const [socket] = at.webSockets;
    let messages = 0;
    socket!.on('message', () => messages++);
    await Promise.all(apps.map((app) => app.get('a')));
    expect(messages).toBe(1);
  });

  it('sessions keep the process alive while there are any, and their socket does not afterwards', async () => {
    const made: WebSocket[] = [];
    class Recorded extends WebSocket {
      constructor(url: string, protocols?: string[]) {
        super(url, protocols);
        made.push(this);
      }
    }
    const at = await node();
    const options = { WebSocket: sharedWebSocket(Recorded, undefined) };
    const keepsAlive = (): boolean => Reflect.get(Reflect.get(made[0]!, '_socket'), '_handle').hasRef();
    const app = await client([at], options);
    expect(keepsAlive()).toBe(true);
    await app.close();
    expect(keepsAlive()).toBe(false);
    await client([at], options);
    expect([made.length, keepsAlive()]).toEqual([1, true]);
  });

  it('sessions leave their socket open for a while after the last of them, for the next one', async () => {
    const at = await node();
    const app = await client([at], DEFAULT);
    const [socket] = at.webSockets;
    await app.close();
    await client([at], DEFAULT);
    expect([...at.webSockets]).toEqual([socket]);
  });
});

describe('a class without what only `ws` has', () => {
  /** Like the global class of Node: its sockets cannot be terminated, and always keep the process alive. */
  class Plain implements WebSocketLike {
    readonly #socket: WebSocket;
    binaryType = '';

    constructor(url: string, protocols?: string[]) {
      this.#socket = new WebSocket(url, protocols);
      this.#socket.binaryType = 'arraybuffer';
    }

    get protocol(): string {
      return this.#socket.protocol;
    }

    addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: object) => void): void {
      this.#socket.addEventListener(type as 'open', listener);
    }

    send(data: string | Uint8Array<ArrayBuffer>): void {
      this.#socket.send(data);
    }

    close(code?: number): void {
      this.#socket.close(code);
    }
  }

  it('a class without the methods of `ws` makes shared sockets, too, which close with their last session', async () => {
    const at = await node();
    const Shared = sharedWebSocket(Plain, undefined);
    const apps = await sessions([at], 3, { WebSocket: Shared });
    expect(at.webSockets.size).toBe(1);
    await Promise.all(apps.map((app) => app.set('a', 1)));
    for (const app of apps) await app.close();
    await at.until(() => at.webSockets.size === 0);
  });

  it('a class without the methods of `ws` that throws rejects the connection', async () => {
    class Broken extends Plain {
      constructor(_url: string) {
        super('nonsense');
      }
    }
    const at = await node();
    expect(await codeOf(client([at], { WebSocket: sharedWebSocket(Broken, undefined) }))).toBe('CONNECTION_LOST');
  });
});
