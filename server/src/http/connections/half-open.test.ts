import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TestAuthority } from '../../../testing/certificates.js';
import { startApi, type TestApi } from '../../../testing/test-api.js';
import { Certificates } from '../../tls/certificates.js';
import type { ConnectionState } from './connections.js';

/** Connections in each state. */
const HELD = 100;
const BRIEF = { headersMs: 3000, requestMs: 3000, stalledMs: 3000, silentMs: 3000, helloMs: 3000 };
const LONG = { headersMs: 90_000, requestMs: 90_000, stalledMs: 90_000, silentMs: 90_000, helloMs: 90_000 };
/** What a connection may leave behind: a leaked one takes more than 10 KiB. */
const LEFT_BYTES_EACH = 5 * 1024;

const PUT = 'PUT /v1/keyspaces/default/keys/a HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n';
const upgrade = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n` +
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: isochron.v1+json\r\n\r\n';

/** A text frame of a client. */
function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const header = Buffer.from([0x81, 0x80 | payload.length, 0, 0, 0, 0]);
  return Buffer.concat([header, payload]);
}

/** What a client sends until it falls silent. */
const SENT: Partial<Record<ConnectionState, readonly (string | Buffer)[]>> = {
  head: ['GET /v1/clock HTTP/1.1\r\nhost: local'],
  body: [`${PUT}content-length: 100\r\n\r\n{"half":`],
  // Where no session is served, the socket is closed: the client does not answer.
  upgrade: [upgrade('/v1/clock')],
  hello: [upgrade('/v1/session')],
  session: [upgrade('/v1/session'), textFrame('{"type":"hello"}')],
};

const STATES = Object.keys(SENT) as ConnectionState[];

const gc = (): void => {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
};
const memory = (): number => {
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};
const descriptors = (): number => (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0);

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** The first bytes that a client of TLS sends. */
async function clientHello(): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connectTls({ port: (server.address() as { port: number }).port, host: '127.0.0.1' });
  client.on('error', () => undefined);
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

let authority: TestAuthority;
let certificates: Certificates;
const log = { warn: jest.fn(), info: jest.fn(), error: jest.fn() };
beforeAll(async () => {
  authority = await TestAuthority.make();
  certificates = new Certificates('api', await authority.issue('api'), { now: Date.now }, log as never);
});
afterAll(() => {
  certificates.close();
  authority.dispose();
});

/** An API, and the connections of a client to it. */
class Held {
  readonly sockets = new Set<Socket>();

  constructor(readonly api: TestApi) {}

  get isEncrypted(): boolean {
    return this.api.url.startsWith('https:');
  }

  get counts(): Record<ConnectionState, number> {
    return this.api.app.connectionCounts();
  }

  get isEmpty(): boolean {
    return this.sockets.size === 0 && Object.values(this.counts).every((count) => count === 0);
  }

  readonly tcp = (): Socket => {
    const port = Number(new URL(this.api.url).port);
    return this.#follow(connectTcp({ port, host: '127.0.0.1' }));
  };

  readonly http = async (): Promise<Socket> => {
    if (!this.isEncrypted) return this.tcp();
    const socket = connectTls({ socket: this.tcp(), ca: authority.pem, host: '127.0.0.1' });
    this.#follow(socket);
    await once(socket, 'secureConnect');
    return socket;
  };

  /**
   * Opens connections that stop in each state, and waits until the API has seen some of them there: on a slow machine
   * the first ones end before the last ones are open.
   */
  async all(count: number, seen = 1): Promise<void> {
    const half = (await clientHello()).subarray(0, 100);
    const stopped = (): Socket => {
      const socket = this.tcp();
      socket.write(half);
      return socket;
    };
    await this.#hold({ count, seen }, 'tcp', this.tcp);
    if (this.isEncrypted) await this.#hold({ count, seen }, 'tls', stopped);
    for (const state of STATES) await this.#hold({ count, seen }, state, this.http);
  }

  /** A client that behaves well is served. */
  async serves(): Promise<void> {
    const socket = await this.http();
    socket.write('GET /v1/clock HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toContain(' 200 OK');
    await until(() => this.isEmpty);
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await this.api.close();
  }

  async #hold(
    { count, seen }: { count: number; seen: number },
    state: ConnectionState,
    open: () => Socket | Promise<Socket>,
  ): Promise<void> {
    const held = Array.from({ length: count }, async () => this.#send(await open(), SENT[state] ?? []));
    await until(() => this.counts[state] >= seen);
    await Promise.all(held);
  }

  /** Each part follows the answer to the one before. */
  async #send(socket: Socket, parts: readonly (string | Buffer)[]): Promise<void> {
    for (const [i, part] of parts.entries()) {
      if (i > 0) await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      socket.write(part);
    }
  }

  #follow(socket: Socket): Socket {
    this.sockets.add(socket);
    return socket
      .resume()
      .on('error', () => undefined)
      .on('close', () => this.sockets.delete(socket));
  }
}

let apis: Held[] = [];
afterEach(async () => {
  await Promise.all(apis.map((held) => held.close()));
  apis = [];
});

async function start(options: Parameters<typeof startApi>[0] = {}): Promise<Held> {
  const held = new Held(await startApi(options));
  apis.push(held);
  return held;
}

const onEach = (act: (held: Held) => Promise<void>) => Promise.all(apis.map(act));

it('a connection that stops in any state ends in time, and leaves neither descriptor nor memory', async () => {
  await start({ limits: BRIEF });
  await start({ limits: BRIEF, certificates });
  const round = async (): Promise<void> => {
    await onEach((held) => held.all(HELD));
    await until(() => apis.every(({ isEmpty }) => isEmpty));
    await onEach((held) => held.serves());
  };
  await round();
  const [descriptorsBefore, memoryBefore] = [descriptors(), memory()];
  await round();
  expect(descriptors()).toBeLessThan(descriptorsBefore + 10);
  expect((memory() - memoryBefore) / (2 * HELD * STATES.length)).toBeLessThan(LEFT_BYTES_EACH);
}, 240_000);

it('a connection whose client has gone in the middle of the TLS handshake ends', async () => {
  const held = await start({ limits: BRIEF, certificates });
  const half = (await clientHello()).subarray(0, 100);
  for (let i = 0; i < HELD; i++) held.tcp().end(i % 2 === 0 ? half : '');
  await until(() => held.isEmpty);
});

it.each([
  ['drains', true],
  ['is closed at once', false],
])('an API that %s ends connections in any state in time', async (_name, drains) => {
  await start({ limits: LONG });
  await start({ limits: LONG, certificates });
  await onEach((held) => held.all(20, 20));
  const begin = performance.now();
  await onEach(async ({ api }) => {
    if (drains) await api.app.drain({ sessionsMs: 500, requestsMs: 500, stableMs: 100 });
    await api.close();
  });
  expect(performance.now() - begin).toBeLessThan(30_000);
  await until(() => apis.every(({ isEmpty }) => isEmpty));
});
