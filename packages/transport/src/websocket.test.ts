import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { TcpProxy } from '@isochron/testing/transport/tcp-proxy';
import {
  Handshake,
  type HandshakeOptions,
  type PeerInfo,
  PROTOCOL_VERSION,
  randomNonce,
  UNPROTECTED,
} from '@isochron/wire';
import { WebSocket } from 'ws';
import { parsePeerUrl, type WebSocketTransportOptions } from './options.js';
import { pings, Recorder, runTransportSuite, type SuiteMessage, type SuiteNode, suiteCodec, until } from './suite.js';
import type { LinkStatus } from './transport.js';
import { WebSocketTransport } from './websocket.js';

type Options = WebSocketTransportOptions<SuiteMessage>;
type Node = WebSocketTransport<SuiteMessage>;

/** The url of a peer that dials, and so is never dialled. */
const NEVER_DIALLED = 'ws://127.0.0.1:1';
const urlOf = (port: number): string => `ws://127.0.0.1:${port}`;

const optionsOf = ({ node, hlc, events }: SuiteNode, changes: Partial<Options> = {}): Options => ({
  self: node,
  peers: [],
  listen: { host: '127.0.0.1', port: 0 },
  secret: 'open sesame',
  clusterHash: 'c0ffee',
  storeId: `store-of-${node}`,
  codec: suiteCodec(),
  hlc,
  events,
  ...changes,
});

/** Opens the nodes, highest first, with a proxy before each link. */
async function openMesh(nodes: readonly SuiteNode[], changes: Partial<Options> = {}) {
  const transports = new Map<string, Node>();
  const proxies = new Map<string, TcpProxy>();
  const ordered = [...nodes].sort((x, y) => (x.node < y.node ? 1 : -1));
  for (const node of ordered) {
    const peers = [];
    for (const other of ordered.filter((each) => each !== node)) {
      const port = transports.get(other.node)?.port;
      const proxy = port === undefined ? undefined : await TcpProxy.open(port);
      if (proxy !== undefined) proxies.set(`${node.node} ${other.node}`, proxy);
      peers.push({ node: other.node, url: proxy === undefined ? NEVER_DIALLED : urlOf(proxy.port) });
    }
    transports.set(node.node, await WebSocketTransport.open(optionsOf(node, { peers, ...changes })));
  }
  const proxy = (x: string, y: string): TcpProxy => proxies.get(x < y ? `${x} ${y}` : `${y} ${x}`)!;
  return {
    transport: (node: string) => transports.get(node)!,
    proxy,
    cut: (x: string, y: string) => proxy(x, y).cut(),
    heal: (x: string, y: string) => proxy(x, y).heal(),
    close: async () => {
      await Promise.all([...transports.values()].map((transport) => transport.close()));
      await Promise.all([...proxies.values()].map((each) => each.close()));
    },
  };
}

runTransportSuite('WebSocketTransport', async (_codec, nodes) => openMesh(nodes));

describe('WebSocketTransport', () => {
  let a: Recorder;
  let b: Recorder;
  const closers: (() => Promise<unknown>)[] = [];

  beforeEach(() => {
    a = new Recorder('a-1');
    b = new Recorder('b-1');
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  const open = async (node: SuiteNode, changes: Partial<Options>): Promise<Node> => {
    const transport = await WebSocketTransport.open(optionsOf(node, changes));
    closers.push(() => transport.close());
    return transport;
  };
  /** Node `b-1`, which is dialled, and `a-1`, which dials it. */
  const openPair = async (ofA: Partial<Options> = {}, ofB: Partial<Options> = {}): Promise<[Node, Node]> => {
    const second = await open(b, { peers: [{ node: 'a-1', url: NEVER_DIALLED }], ...ofB });
    return [await open(a, { peers: [{ node: 'b-1', url: urlOf(second.port) }], ...ofA }), second];
  };
  const mesh = async (changes: Partial<Options> = {}) => {
    const cluster = await openMesh([a, b], changes);
    closers.push(cluster.close);
    await until(() => cluster.transport('a-1').linkUp('b-1') && cluster.transport('b-1').linkUp('a-1'), 'link is up');
    return cluster;
  };
  const statusOf = (transport: Node): LinkStatus => transport.links()[0]!;
  const failedWith = (transport: Node, code: string) =>
    until(() => statusOf(transport).lastError?.code === code, `${code} in the status`);

  /** A client made by hand: it answers the handshake correctly, then runs the test's steps. */
  const dialByHand = (port: number, of: Partial<PeerInfo> = {}, more: Partial<HandshakeOptions> = {}) => {
    const socket = new WebSocket(urlOf(port));
    closers.push(async () => socket.terminate());
    const self = {
      nodeId: 'a-1',
      storeId: 'by-hand',
      version: PROTOCOL_VERSION,
      clusterHash: 'c0ffee',
      hlc: 1,
      protection: UNPROTECTED,
      ...of,
    };
    const handshake = new Handshake({ role: 'initiator', self, secret: 'open sesame', nonce: randomNonce(), ...more });
    const ended = new Promise<{ code: number; reason: string }>((resolve) => {
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    socket.on('error', () => undefined); // 'close' follows
    const accepted = new Promise<void>((resolve) => {
      socket.on('open', () => socket.send(handshake.start().send!));
      socket.on('message', function answer(data: Buffer) {
        const { send, outcome } = handshake.receive(data);
        if (outcome !== undefined) socket.off('message', answer);
        if (outcome?.status === 'accepted') resolve();
        else if (outcome === undefined) socket.send(send!);
      });
    });
    return { socket, accepted, ended };
  };
  const listening = (changes: Partial<Options> = {}) =>
    open(b, { peers: [{ node: 'a-1', url: NEVER_DIALLED }], ...changes });

  describe('a clock that its owner refuses (K1)', () => {
    it('a refused clock keeps a link from coming up, after both sides have received the other clock (K1)', async () => {
      const met: (number | undefined)[] = [];
      const meets = ({ wallMs }: PeerInfo): string => `off: ${met.push(wallMs)}`;
      const first = { ...a.events, meets: ({ wallMs }: PeerInfo) => void met.push(wallMs) };
      const [transport] = await openPair(
        { wallClock: () => 2_000, events: first, delayMs: () => 5 },
        { wallClock: () => 1_000, events: { ...b.events, meets }, delayMs: () => 5 },
      );
      await failedWith(transport, 'CLOCK_DRIFT');
      expect(b.links).toEqual([]);
      expect([...new Set(met)].sort()).toEqual([1_000, 2_000]);
    });

    it('a refused clock keeps a whole frame from its owner, and closes the link (K1)', async () => {
      const refuses = (_from: string, hlc: number): string | undefined => (hlc > 5 ? 'far ahead' : undefined);
      const [first] = await openPair({}, { events: { ...b.events, refuses } });
      await until(() => first.linkUp('b-1'), 'the link is up');
      a.clock = 6;
      first.send('b-1', pings('a-1', 'b-1', 1, 3));
      await failedWith(first, 'CLOCK_DRIFT');
      expect(b.frames).toEqual([]);
      await until(() => first.linkUp('b-1'), 'the link is up again');
      a.clock = 5;
      first.send('b-1', pings('a-1', 'b-1', 4, 4));
      await until(() => b.frames.length === 1, 'the next frame');
    });
  });

  describe('refusals', () => {
    it.each<[string, Partial<Options>, string]>([
      ['a peer with the wrong secret', { secret: 'guess' }, 'PEER_REFUSED'],
      ['a peer of another version', { version: PROTOCOL_VERSION + 1 }, 'PEER_VERSION_MISMATCH'],
      ['a peer with another cluster file', { clusterHash: 'decaf' }, 'PEER_CONFIG_MISMATCH'],
    ])(
      'a node refuses %s, both sides get the reason, and the dialling side retries slowly',
      async (_what, changes, code) => {
        const [first, second] = await openPair(changes);
        await failedWith(first, code);
        await until(() => second.connectionEnds()[code] === 1, 'the refusal is counted');
        expect([first.linkUp('b-1'), second.linkUp('a-1')]).toEqual([false, false]);
        expect([...a.links, ...b.links]).toEqual([]);
        expect(first.connectionEnds()).toEqual({ [code]: 1 });
      },
    );

    it('a peer is accepted that has the secret as its second one, or as its first', async () => {
      const [first, second] = await openPair({ secret: 'new', secondSecret: 'open sesame' });
      await until(() => first.linkUp('b-1') && second.linkUp('a-1'), 'the link is up');
    });

    it('refused nodes link when the reason is gone', async () => {
      const [first, second] = await openPair({ secret: 'guess', tuning: { refusedRetryMs: 5 } });
      await until(() => (first.connectionEnds().PEER_REFUSED ?? 0) >= 2, 'a second try');
      await first.close();
      await open(a, { peers: [{ node: 'b-1', url: urlOf(second.port) }] });
      await until(() => second.linkUp('a-1'), 'the link is up');
    });
  });

  it('a second node with the id of a linked one is refused, and the first is kept', async () => {
    const [first, second] = await openPair();
    await until(() => second.linkUp('a-1'), 'the link is up');
    const double = new Recorder('a-1');
    const other = await open(double, { peers: [{ node: 'b-1', url: urlOf(second.port) }], storeId: 'another' });
    await failedWith(other, 'PEER_REFUSED');
    expect(statusOf(other).lastError?.detail).toContain('another a-1 is linked');
    expect([first.linkUp('b-1'), second.linkUp('a-1')]).toEqual([true, true]);
    expect(b.turns('a-1')).toEqual([true]);
  });

  it('a dialling node with the id of the node that it dials is refused', async () => {
    const second = await listening();
    const { ended } = dialByHand(second.port, { nodeId: 'b-1' });
    expect((await ended).code).toBe(4403);
  });

  it.each([
    ['a node that is not in the cluster file', '0-1', 'not in the cluster file'],
    ['a node with a higher id, which is for this node to dial', 'c-1', 'the lower id dials'],
  ])('a transport refuses %s', async (_what, nodeId, detail) => {
    const second = await listening({ peers: [{ node: 'c-1', url: NEVER_DIALLED }] });
    const { ended } = dialByHand(second.port, { nodeId });
    expect(await ended).toEqual({ code: 4403, reason: expect.stringContaining(detail) });
  });

  it('the connection of a node that is back replaces its old one before that was found dead', async () => {
    const second = await listening();
    const [old, fresh] = [dialByHand(second.port), dialByHand(second.port)];
    await Promise.all([old.accepted, fresh.accepted]);
    expect((await Promise.race([old.ended, fresh.ended])).code).toBe(4409);
    expect(b.turns('a-1')).toEqual([true, false, true]);
    expect(second.linkUp('a-1')).toBe(true);
  });

  describe('closes the link with a code, counts it and lives on, on', () => {
    const frame = (changes: object = {}) =>
      suiteCodec().encode({
        hlc: 1,
        envelopes: [{ to: 'x', from: 'y', message: { type: 'Ping', n: 1 } }],
        ...changes,
      });
    it.each<[string, string | Uint8Array, number, string]>([
      ['random bytes', Uint8Array.of(0xc1, 7, 9), 4400, 'FRAME_INVALID'],
      ['an empty frame', new Uint8Array(0), 4400, 'FRAME_INVALID'],
      ['a truncated frame', frame().subarray(0, 9), 4400, 'FRAME_INVALID'],
      ['a clock beyond all limits', frame({ hlc: 2 ** 53 - 1 }), 4400, 'FRAME_INVALID'],
      ['a text frame', 'hello', 4402, 'FRAME_NOT_BINARY'],
      ['a frame over the limit', new Uint8Array(10_001), 1009, 'FRAME_TOO_LARGE'],
    ])(
      'the link is closed with a code and counted, and the node lives on, after %s',
      async (_what, data, code, name) => {
        const second = await listening({ tuning: { maxFrameBytes: 10_000 } });
        const { socket, accepted, ended } = dialByHand(second.port);
        await accepted;
        socket.send(data);
        expect((await ended).code).toBe(code);
        await until(() => !second.linkUp('a-1'), 'the link is down');
        expect(second.connectionEnds()).toEqual({ [name]: 1 });
        expect(statusOf(second).lastError?.code).toBe(name);
        expect(b.frames).toEqual([]);
        expect(b.turns('a-1')).toEqual([true, false]);
        await dialByHand(second.port).accepted;
      },
    );

    it('the link is closed with a code and counted, and the node lives on, after a frame before the handshake', async () => {
      const second = await listening();
      const socket = new WebSocket(urlOf(second.port));
      socket.on('open', () => socket.send(frame()));
      const code = await new Promise<number>((resolve) => socket.on('close', resolve));
      expect(code).toBe(4403);
      expect(b.frames).toEqual([]);
    });
  });

  it('a silent connection is ended at the deadline of the handshake', async () => {
    const second = await listening({ tuning: { handshakeTimeoutMs: 20 } });
    const socket = new WebSocket(urlOf(second.port));
    expect(await new Promise<number>((resolve) => socket.on('close', resolve))).toBe(4408);
  });

  it('a stranger may send no more than a handshake, however large frames may be', async () => {
    const second = await listening();
    const socket = new WebSocket(urlOf(second.port));
    socket.on('error', () => undefined); // 'close' follows
    socket.on('open', () => socket.send(new Uint8Array(1024 * 1024)));
    expect(await new Promise<number>((resolve) => socket.on('close', resolve))).toBe(1006);
    expect(second.connectionEnds()).toEqual({ CONNECTION_LOST: 1 });
  });

  it('connections are refused while too many are in the middle of their handshake', async () => {
    const second = await listening({ tuning: { maxHandshakes: 1 } });
    const idle = new WebSocket(urlOf(second.port));
    closers.push(async () => idle.terminate());
    await new Promise((resolve) => idle.on('open', resolve));
    expect((await dialByHand(second.port).ended).code).toBe(1013);
  });

  it('handshakes are limited for each address: strangers at one do not keep nodes of others out', async () => {
    const second = await listening({ tuning: { maxHandshakes: 4, maxStrangersPerAddress: 2 } });
    const from = (localAddress: string) => {
      const socket = new WebSocket(urlOf(second.port), { localAddress });
      closers.push(async () => socket.terminate());
      return new Promise<number | 'open'>((resolve) => {
        socket.on('error', () => undefined);
        socket.on('close', resolve);
        setTimeout(() => resolve('open'), 500);
      });
    };
    const flood = await Promise.all(Array.from({ length: 20 }, () => from('127.0.0.2')));
    expect(flood.filter((end) => end === 'open')).toHaveLength(2);
    await dialByHand(second.port).accepted;
  });

  it('connections that send nothing are limited, in all and for each address, and ended in time', async () => {
    const tuning = { maxStrangers: 3, maxStrangersPerAddress: 2, handshakeTimeoutMs: 500 };
    const log = jest.fn();
    const second = await listening({ tuning, log: (level, ...line) => level === 'warn' && log(level, ...line) });
    const open: Socket[] = [];
    const from = (localAddress: string) => {
      const socket = connect({ port: second.port, host: '127.0.0.1', localAddress });
      socket
        .resume()
        .on('error', () => undefined)
        .on('close', () => open.splice(open.indexOf(socket), 1));
      open.push(socket);
      closers.push(async () => socket.destroy());
    };
    for (const address of ['127.0.0.2', '127.0.0.2', '127.0.0.2', '127.0.0.3', '127.0.0.4']) from(address);
    await until(() => open.length === 3, 'those without a place have ended');
    expect(second.incoming()).toMatchObject({ states: { tcp: 3, link: 0 }, crowded: 2 });
    expect(log).toHaveBeenCalledTimes(1);
    expect(log).toHaveBeenCalledWith('warn', expect.stringContaining('have no proof'), expect.anything());
    await until(() => open.length === 0, 'the others have ended in time');
    await dialByHand(second.port).accepted;
    expect(second.incoming().states).toMatchObject({ tcp: 0, link: 1 });
  });

  it.each([
    ['sends half a head', 'GET / HTTP/1.1\r\nhost', 'head'],
    [
      'asks for a WebSocket and does not prove itself',
      'GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n' +
        'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nhost: x\r\n\r\n',
      'handshake',
    ],
  ] as const)('a connection to the peering port that %s ends in time', async (_name, sent, state) => {
    const second = await listening({ tuning: { handshakeTimeoutMs: 500, maxStrangersPerAddress: 64 } });
    const sockets = Array.from({ length: 64 }, () => {
      const socket = connect({ port: second.port, host: '127.0.0.1' });
      closers.push(async () => socket.destroy());
      return socket.resume().on('error', () => undefined);
    });
    for (const socket of sockets) socket.write(sent);
    await until(() => second.incoming().states[state] > 0, 'they are seen');
    await until(() => sockets.every(({ destroyed }) => destroyed), 'they have ended');
    expect(Object.values(second.incoming().states).every((count) => count === 0)).toBe(true);
  });

  it('the link of a node whose messages are not its own is closed', async () => {
    const second = await listening({ events: { ...b.events, foreign: () => 'of another region' } });
    const { socket, accepted, ended } = dialByHand(second.port);
    await accepted;
    const envelopes = [{ to: 'x', from: 'y', message: { type: 'Ping' as const, n: 1 } }];
    socket.send(suiteCodec().encode({ hlc: 1, envelopes }));
    expect(await ended).toEqual({ code: 4403, reason: 'of another region' });
    expect(b.frames).toEqual([]);
  });

  it('what is too large for one frame is split, and only a message that is too large by itself is dropped', async () => {
    const log = jest.fn();
    const [first, second] = await openPair({ tuning: { maxFrameBytes: 2_000 }, log });
    await until(() => first.linkUp('b-1') && second.linkUp('a-1'), 'the link is up');
    const [one, ...others] = pings('a-1', 'b-1', 0, 499);
    first.send('b-1', [{ ...one!, message: { type: 'Blob', value: 'x'.repeat(3_000) } }, ...others]);
    await until(() => b.pings('a-1').length >= 499, 'the other messages');
    expect(b.pings('a-1')).toEqual(others.map((_, i) => i + 1));
    expect(statusOf(first)).toMatchObject({ up: true, dropped: 1 });
    expect(log).toHaveBeenCalledWith('error', expect.stringContaining('larger than a frame'), {
      peer: 'b-1',
      messages: 1,
    });
  });

  it('the link to a peer that reads too slowly is dropped instead of buffered without bound', async () => {
    const limit = 1_000_000;
    const cluster = await mesh({ tuning: { maxBufferedBytes: limit, deadAfterMs: 60_000 } });
    cluster.proxy('a-1', 'b-1').silence();
    const first = cluster.transport('a-1');
    const [envelope] = pings('a-1', 'b-1', 0, 0);
    const value = new Uint8Array(100_000);
    let sent = 0;
    while (first.linkUp('b-1') && sent++ < 10_000) {
      first.send('b-1', [{ ...envelope!, message: { type: 'Blob', value } }]);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await failedWith(first, 'BUFFER_FULL');
    expect(a.turns('b-1')).toEqual([true, false]);
    cluster.cut('a-1', 'b-1');
    cluster.heal('a-1', 'b-1');
    await until(() => first.linkUp('b-1'), 'the link is up again');
  });

  it('a peer that falls silent is found dead, though its connection stays open', async () => {
    const cluster = await mesh({ tuning: { pingIntervalMs: 20, deadAfterMs: 100 } });
    await until(() => (statusOf(cluster.transport('a-1')).rttMs ?? 0) > 0, 'a round trip');
    cluster.proxy('a-1', 'b-1').silence();
    await until(() => a.turns('b-1').length === 2 && b.turns('a-1').length === 2, 'both ends notice');
    expect([a, b].map(({ node }) => cluster.transport(node).links()[0]?.lastError?.code)).toContain('PEER_SILENT');
  });

  it('an idle link stays up', async () => {
    const cluster = await mesh({ tuning: { pingIntervalMs: 10, deadAfterMs: 60 } });
    let pongs = 0;
    let last: number | null = null;
    await until(() => {
      const { rttMs } = statusOf(cluster.transport('b-1'));
      if (rttMs !== last) pongs++;
      last = rttMs;
      return pongs >= 20;
    }, 'twenty round trips');
    expect([a.turns('b-1'), b.turns('a-1')]).toEqual([[true], [true]]);
  });

  describe('with an emulated delay', () => {
    const delayMs = (from: string) => (from === 'a-1' ? 40 : 20);

    it('an emulated delay keeps the order, adds the delay of each direction, and shows in the round trip', async () => {
      const cluster = await mesh({ delayMs });
      const sentAt = performance.now();
      for (let n = 0; n < 100; n++) cluster.transport('a-1').send('b-1', pings('a-1', 'b-1', n, n));
      expect(b.frames).toHaveLength(0);
      await until(() => b.frames.length > 0, 'the first frame');
      // A lower bound only: a loaded machine may be late, never early. One millisecond is the clock's granularity.
      expect(performance.now() - sentAt).toBeGreaterThan(39);
      await until(() => b.frames.length >= 100, '100 frames');
      expect(b.pings('a-1')).toEqual(Array.from({ length: 100 }, (_, n) => n));
      await until(() => statusOf(cluster.transport('a-1')).rttMs !== null, 'a round trip');
      expect(statusOf(cluster.transport('a-1')).rttMs).toBeGreaterThan(59);
    });

    it('frames in an emulated delay are lost when the link drops', async () => {
      const cluster = await mesh({ delayMs });
      const first = cluster.transport('a-1');
      first.send('b-1', pings('a-1', 'b-1', 1, 1));
      cluster.cut('a-1', 'b-1');
      cluster.heal('a-1', 'b-1');
      await until(() => a.turns('b-1').length === 3 && b.turns('a-1').length === 3, 'down and up');
      first.send('b-1', pings('a-1', 'b-1', 2, 2));
      await until(() => b.frames.length > 0, 'a frame');
      expect(b.pings('a-1')).toEqual([2]);
    });

    it('frames in an emulated delay are bounded as well', async () => {
      const cluster = await mesh({ delayMs, tuning: { maxBufferedBytes: 10_000 } });
      const first = cluster.transport('a-1');
      for (let n = 0; n < 10; n++) first.send('b-1', pings('a-1', 'b-1', 0, 99));
      expect(first.linkUp('b-1')).toBe(false);
      await failedWith(first, 'BUFFER_FULL');
    });
  });

  it('opening rejects with the error of the system, unchanged, when the port is taken', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    closers.push(() => new Promise((resolve) => taken.close(resolve)));
    const listen = { host: '127.0.0.1', port: (taken.address() as AddressInfo).port };
    await expect(WebSocketTransport.open(optionsOf(a, { listen }))).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('the reason why a peer cannot be reached is shown, and the link comes up as soon as it can', async () => {
    const gone = await listening();
    const { port } = gone;
    await gone.close();
    const first = await open(a, { peers: [{ node: 'b-1', url: urlOf(port) }] });
    await failedWith(first, 'ECONNREFUSED');
    await listening({ listen: { host: '127.0.0.1', port } });
    await until(() => first.linkUp('b-1'), 'the link is up');
  });

  it('a transport is not opened without a secret, or with a url that it cannot dial', async () => {
    await expect(WebSocketTransport.open(optionsOf(a, { secret: '' }))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    const peers = [{ node: 'b-1', url: 'http://127.0.0.1:1' }];
    await expect(WebSocketTransport.open(optionsOf(a, { peers }))).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('parsePeerUrl', () => {
  it.each([
    ['ws://127.0.0.1:7201', { host: '127.0.0.1', port: 7201 }],
    ['ws://[::1]:7201/', { host: '::1', port: 7201 }],
    ['ws://node.example', { host: 'node.example', port: 80 }],
    ['wss://node.example', { host: 'node.example', port: 443 }],
  ])('parsePeerUrl reads %s', (url, expected) => expect(parsePeerUrl(url)).toEqual(expected));

  const WRONG = ['https://a:1', 'http://a:1', 'a:1', '', 'ws://a:1/path', 'ws://a:99999'];
  it.each(WRONG)('parsePeerUrl refuses "%s"', (url) => {
    expect(() => parsePeerUrl(url)).toThrow('ws://host:port');
  });
});
