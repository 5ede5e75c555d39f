import { copyFileSync } from 'node:fs';
import { Random } from '@isochron/core';
import { type Alteration, TcpProxy } from '@isochron/testing/transport/tcp-proxy';
import { nodeUri, WebSocketTransport, type WebSocketTransportOptions } from '@isochron/transport';
import {
  pings,
  Recorder,
  runTransportSuite,
  type SuiteMessage,
  type SuiteNode,
  suiteCodec,
  until,
} from '@isochron/transport/suite';
import { Handshake, PROTOCOL_VERSION, randomNonce, UNPROTECTED } from '@isochron/wire';
import { WebSocket } from 'ws';
import { type CertificateOptions, TestAuthority } from '../../testing/certificates.js';
import { readCertificates } from './certificate-files.js';
import { Certificates } from './certificates.js';
import { peerTls } from './peer-tls.js';

type Options = WebSocketTransportOptions<SuiteMessage>;
type Node = WebSocketTransport<SuiteMessage>;

const CLUSTER = 'shop';
const SECRET = 'open sesame';
const NEVER_DIALLED = 'wss://127.0.0.1:1';
const QUICKLY = { refusedRetryMs: 20, backoffCapMs: 50 };
const silent = { info: () => undefined, error: () => undefined } as never;

let authority: TestAuthority;
let other: TestAuthority;
beforeAll(async () => {
  [authority, other] = [await TestAuthority.make(), await TestAuthority.make()];
});
afterAll(() => {
  for (const one of [authority, other]) one.dispose();
});

/** The certificate of a node, as `isochron certs` makes it. */
const issue = (node: string, options: CertificateOptions = {}, by = authority) =>
  by.issue(node, { uris: [nodeUri(CLUSTER, node)], client: true, ...options });

/** Certificates that a node uses, whatever they are: its own checks are left out. */
async function tlsOf(node: string, options: CertificateOptions = {}, by = authority) {
  const files = await issue(node, options, by);
  const current = { ...readCertificates(files, { now: midOf(options) }), ca: authority.pem };
  return { cluster: CLUSTER, certificates: { current, onChange: () => () => undefined } };
}

const midOf =
  ({ days: [from, to] = [0, 30] }: CertificateOptions): (() => number) =>
  () =>
    Date.now() + ((from + to) / 2) * 86_400_000;

const optionsOf = async ({ node, hlc, events }: SuiteNode, changes: Partial<Options> = {}): Promise<Options> => ({
  self: node,
  peers: [],
  listen: { host: '127.0.0.1', port: 0 },
  secret: SECRET,
  clusterHash: 'c0ffee',
  storeId: `store-of-${node}`,
  codec: suiteCodec(),
  hlc,
  events,
  tls: 'tls' in changes ? undefined : await tlsOf(node),
  tuning: QUICKLY,
  ...changes,
});

/** Opens the nodes, highest first, with a proxy before each link. */
async function openMesh(nodes: readonly SuiteNode[], changes: Partial<Options> = {}) {
  const transports = new Map<string, Node>();
  const proxies = new Map<string, TcpProxy>();
  const scheme = 'tls' in changes ? 'ws' : 'wss';
  const ordered = [...nodes].sort((x, y) => (x.node < y.node ? 1 : -1));
  for (const node of ordered) {
    const peers = [];
    for (const one of ordered.filter((each) => each !== node)) {
      const port = transports.get(one.node)?.port;
      const proxy = port === undefined ? undefined : await TcpProxy.open(port);
      if (proxy !== undefined) proxies.set(`${node.node} ${one.node}`, proxy);
      peers.push({ node: one.node, url: proxy === undefined ? NEVER_DIALLED : `${scheme}://127.0.0.1:${proxy.port}` });
    }
    transports.set(node.node, await WebSocketTransport.open(await optionsOf(node, { peers, ...changes })));
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

runTransportSuite('WebSocketTransport over TLS', async (_codec, nodes) => openMesh(nodes));

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const open = async (node: SuiteNode, changes: Partial<Options> = {}): Promise<Node> => {
  const transport = await WebSocketTransport.open(await optionsOf(node, changes));
  closers.push(() => transport.close());
  return transport;
};

/** Node `b-1`, and `a-1`, which dials it; each with its own certificates. */
async function openPair(ofA: Partial<Options> = {}, ofB: Partial<Options> = {}) {
  const [a, b] = [new Recorder('a-1'), new Recorder('b-1')];
  const second = await open(b, { peers: [{ node: 'a-1', url: NEVER_DIALLED }], ...ofB });
  const first = await open(a, { peers: [{ node: 'b-1', url: `wss://127.0.0.1:${second.port}` }], ...ofA });
  return { a, b, first, second };
}

const upsOf = (recorder: Recorder, node: string): number => recorder.turns(node).filter((up) => up).length;

const errorOf = (node: Node): string => {
  const { lastError } = node.links()[0]!;
  return `${lastError?.code}: ${lastError?.detail}`;
};

async function refused(node: Node, sentence: RegExp): Promise<void> {
  await until(() => sentence.test(errorOf(node)), `${sentence} instead of ${errorOf(node)}`);
  expect(node.links()[0]!.up).toBe(false);
}

describe('a link between nodes over TLS', () => {
  it.each<[string, CertificateOptions, RegExp]>([
    ['has expired', { days: [-9, -1] }, /^PEER_REFUSED: the certificate of the peer has expired$/],
    ['is not valid yet', { days: [2, 9] }, /^PEER_REFUSED: the certificate of the peer is not valid yet$/],
    [
      'is for another node',
      { uris: [nodeUri(CLUSTER, 'c-1')] },
      /^PEER_REFUSED: the certificate of the peer names isochron:\/\/shop\/node\/c-1, not isochron:\/\/shop\/node\/.-1$/,
    ],
    [
      'is for a node of another cluster',
      { uris: [nodeUri('other', 'a-1'), nodeUri('other', 'b-1')] },
      /^PEER_REFUSED: the certificate of the peer names isochron:\/\/other\/.*, not isochron:\/\/shop\//,
    ],
    [
      'names no node',
      { uris: [] },
      /^PEER_REFUSED: the certificate of the peer names no node, not isochron:\/\/shop\//,
    ],
  ])('no link comes up with a node whose certificate %s, on either side', async (_what, options, sentence) => {
    const accepted = await openPair({}, { tls: await tlsOf('b-1', options) });
    await refused(accepted.first, sentence);
    const dialled = await openPair({ tls: await tlsOf('a-1', options) });
    await refused(dialled.first, sentence);
    expect([accepted.b.frames, dialled.b.frames, dialled.b.links]).toEqual([[], [], []]);
    expect(dialled.second.connectionEnds()).toMatchObject({ PEER_REFUSED: expect.any(Number) });
  });

  it('no link comes up with a node whose certificate is of another authority, on either side', async () => {
    const sentence = /^PEER_REFUSED: the certificate of the peer is of an unknown authority$/;
    await refused((await openPair({}, { tls: await tlsOf('b-1', {}, other) })).first, sentence);
    await refused((await openPair({ tls: await tlsOf('a-1', {}, other) })).first, sentence);
  });

  it('no link is accepted from a node whose certificate is for servers alone', async () => {
    const { first } = await openPair({ tls: await tlsOf('a-1', { client: false }) });
    await refused(first, /^PEER_REFUSED: the certificate of the peer is for another purpose$/);
  });

  it('a node without TLS and a node with it do not link', async () => {
    const { first, second } = await openPair({}, { tls: undefined });
    await until(() => first.links()[0]!.lastError !== null, 'an error');
    expect([first.links()[0]!.up, second.links()[0]!.up]).toEqual([false, false]);
    const plain = await open(new Recorder('c-1'));
    const stranger = new WebSocket(`ws://127.0.0.1:${plain.port}`);
    await new Promise((resolve) => stranger.on('error', resolve));
    expect(Object.keys(plain.connectionEnds())).toEqual([expect.stringContaining('SSL')]);
  });

  it('a stranger with the secret and no certificate is refused', async () => {
    const { second } = await openPair();
    const socket = new WebSocket(`wss://127.0.0.1:${second.port}`, {
      ca: authority.pem,
      rejectUnauthorized: false,
    });
    socket.on('error', () => undefined);
    const reason = await new Promise<string>((resolve) =>
      socket.on('close', (_code, text) => resolve(text.toString())),
    );
    expect(reason).toBe('the peer has no certificate');
  });

  it('a node cannot link in the name of another one, with its own certificate and the secret', async () => {
    const { second, b } = await openPair({ secret: 'another one' });
    const { certificates } = await tlsOf('c-1');
    const socket = new WebSocket(`wss://127.0.0.1:${second.port}`, {
      ...certificates.current,
      rejectUnauthorized: false,
    });
    socket.on('error', () => undefined);
    const self = {
      nodeId: 'a-1',
      storeId: 's',
      version: PROTOCOL_VERSION,
      clusterHash: 'c0ffee',
      hlc: 1,
      protection: UNPROTECTED,
      wallMs: 1,
    };
    const handshake = new Handshake({ role: 'initiator', self, secret: SECRET, nonce: randomNonce() });
    socket.on('open', () => socket.send(handshake.start().send!));
    const outcome = await new Promise((resolve) =>
      socket.on('message', (data: Buffer) => {
        const { send, outcome: end } = handshake.receive(data);
        if (end === undefined) socket.send(send!);
        else resolve(end);
      }),
    );
    expect(outcome).toMatchObject({
      code: 'PEER_REFUSED',
      detail: 'the certificate of the peer names isochron://shop/node/c-1, not isochron://shop/node/a-1',
    });
    expect([b.links, b.frames]).toEqual([[], []]);
  });

  it('the secret is needed beside the certificate', async () => {
    const { first } = await openPair({ secret: 'another secret' });
    await refused(first, /^PEER_REFUSED: .*secret/);
  });

  it('links live through a change of certificates and authority, and new links use the new ones', async () => {
    const files = await Promise.all(
      ['a-1', 'b-1'].map(async (node) => ({
        ...(await issue(node)),
        ca: authority.write(`${node}-ca.pem`, authority.pem),
      })),
    );
    const [ofA, ofB] = files.map((one) => new Certificates('peer', one, { now: Date.now }, silent));
    const [tlsA, tlsB] = [peerTls(CLUSTER, ofA!), peerTls(CLUSTER, ofB!)];
    const b = new Recorder('b-1');
    const second = await open(b, { peers: [{ node: 'a-1', url: NEVER_DIALLED }], tls: tlsB });
    const proxy = await TcpProxy.open(second.port);
    closers.push(() => proxy.close());
    const url = `wss://127.0.0.1:${proxy.port}`;
    const first = await open(new Recorder('a-1'), { peers: [{ node: 'b-1', url }], tls: tlsA });
    await until(() => first.linkUp('b-1') && second.linkUp('a-1'), 'the link is up');
    const restart = async (): Promise<void> => {
      const before = upsOf(b, 'a-1');
      proxy.cut();
      await until(() => !first.linkUp('b-1'), 'the link is down');
      proxy.heal();
      await until(() => upsOf(b, 'a-1') > before && first.linkUp('b-1'), 'the link is up again');
    };
    // Both authorities, then certificates of the new one, then the new one alone.
    for (const one of files) authority.write(one.ca.split('/').at(-1)!, authority.pem + other.pem);
    for (const one of [ofA!, ofB!]) one.reload();
    expect(first.linkUp('b-1')).toBe(true);
    const before = ofA!.current.cert;
    for (const [i, node] of ['a-1', 'b-1'].entries()) {
      const { cert, key } = await issue(node, {}, other);
      copyFileSync(cert, files[i]!.cert);
      copyFileSync(key, files[i]!.key);
    }
    for (const one of [ofA!, ofB!]) one.reload();
    expect(ofA!.current.cert).not.toBe(before);
    expect(first.linkUp('b-1')).toBe(true);
    await restart();
    for (const one of files) authority.write(one.ca.split('/').at(-1)!, other.pem);
    for (const one of [ofA!, ofB!]) one.reload();
    expect([ofA!.counts, ofB!.counts, first.linkUp('b-1')]).toEqual([
      { failures: 0, reloads: 3 },
      { failures: 0, reloads: 3 },
      true,
    ]);
    await restart();
  });

  it('an authority is replaced without a moment without the link: its connection is renewed, whichever side has changed', async () => {
    const files = await Promise.all(
      ['a-1', 'b-1'].map(async (node) => ({
        ...(await issue(node)),
        ca: authority.write(`${node}-authorities.pem`, authority.pem),
      })),
    );
    const [ofA, ofB] = files.map((one) => new Certificates('peer', one, { now: Date.now }, silent));
    const { b, first, second } = await openPair({ tls: peerTls(CLUSTER, ofA!) }, { tls: peerTls(CLUSTER, ofB!) });
    await until(() => first.linkUp('b-1') && second.linkUp('a-1'), 'the link is up');
    let down = 0;
    const timer = setInterval(() => (down += first.linkUp('b-1') && second.linkUp('a-1') ? 0 : 1), 1);
    const reload = async (one: Certificates): Promise<void> => {
      const before = upsOf(b, 'a-1');
      one.reload();
      await until(() => upsOf(b, 'a-1') > before, 'the connection is renewed');
    };
    const authorities = (text: string) => files.map(({ ca }) => authority.write(ca.split('/').at(-1)!, text));
    authorities(authority.pem + other.pem);
    for (const one of [ofA!, ofB!]) await reload(one);
    for (const [i, node] of ['a-1', 'b-1'].entries()) {
      const { cert, key } = await issue(node, {}, other);
      copyFileSync(cert, files[i]!.cert);
      copyFileSync(key, files[i]!.key);
    }
    for (const one of [ofB!, ofA!]) await reload(one);
    authorities(other.pem);
    for (const one of [ofA!, ofB!]) await reload(one);
    clearInterval(timer);
    // A look may come between the end of the old connection at one side and the new one there.
    expect(down).toBeLessThan(10);
    const ends = { ...first.connectionEnds(), ...second.connectionEnds() };
    expect(Object.keys(ends)).toEqual(['LINK_REPLACED']);
  });

  it('a link whose certificate is of an authority that was dropped is closed', async () => {
    const ca = authority.write('own-ca.pem', authority.pem + other.pem);
    const files = { ...(await issue('b-1')), ca };
    const certificates = new Certificates('peer', files, { now: Date.now }, silent);
    const stranger = await tlsOf('a-1', {}, other);
    const { first } = await openPair({ tls: stranger }, { tls: peerTls(CLUSTER, certificates) });
    await until(() => first.linkUp('b-1'), 'the link is up');
    authority.write('own-ca.pem', authority.pem);
    certificates.reload();
    await refused(first, /^PEER_REFUSED: .*unknown authority/);
  });
});

/** The attacker's ways: each makes something else of a piece of bytes. */
function attackWith(random: Random): { readonly name: string; readonly alter: Alteration } {
  let kept: Buffer | undefined;
  const attacks: Readonly<Record<string, Alteration>> = {
    alter: (chunk) => {
      const altered = Buffer.from(chunk);
      altered[random.below(altered.length)]! ^= 1 << random.below(8);
      return [altered];
    },
    'alter the end of': (chunk) => {
      const altered = Buffer.from(chunk);
      altered[altered.length - 1]! ^= 1;
      return [altered];
    },
    inject: (chunk) => [
      chunk,
      Buffer.from(chunk.subarray(0, 5)),
      Buffer.alloc(random.below(64) + 1, random.below(256)),
    ],
    replay: (chunk) => [chunk, chunk],
    'replay later': (chunk) => {
      const before = kept;
      kept ??= chunk;
      return before === undefined ? [chunk] : [chunk, before];
    },
    reorder: (chunk) => {
      const before = kept;
      kept = before === undefined ? chunk : undefined;
      return before === undefined ? [] : [chunk, before];
    },
    drop: (chunk) => (random.below(2) === 0 ? [] : [chunk]),
    cut: (chunk) => [chunk.subarray(0, random.below(chunk.length))],
  };
  const names = Object.keys(attacks);
  const name = names[random.below(names.length)]!;
  return { name, alter: attacks[name]! };
}

/** A node takes only messages that the other node sent, in their order, each at most once. */
function faultIn(received: readonly number[], sent: number): string | undefined {
  for (const [i, n] of received.entries()) {
    if (!Number.isInteger(n) || n < 0 || n >= sent) return `${n} was never sent`;
    if (i > 0 && n <= received[i - 1]!) return `${n} came after ${received[i - 1]}`;
  }
  return undefined;
}

const ROUNDS = 25;
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31);

describe('an attacker who holds the wire between two nodes', () => {
  /** Attacks in turn, while `a-1` sends numbers; returns the fault that was found, and the attack. */
  async function underAttack(seed: number, changes: Partial<Options>, rounds: number): Promise<string | undefined> {
    const random = new Random(seed);
    const [a, b] = [new Recorder('a-1'), new Recorder('b-1')];
    const mesh = await openMesh([a, b], changes);
    let sent = 0;
    const sendTo = (count: number) => {
      for (let i = 0; i < count; i++) mesh.transport('a-1').send('b-1', pings('a-1', 'b-1', sent, sent++));
    };
    try {
      for (let round = 0; round < rounds; round++) {
        const before = b.pings('a-1').length;
        await until(() => mesh.transport('a-1').linkUp('b-1'), `the link is up again in round ${round}`);
        await until(() => {
          sendTo(1);
          return b.pings('a-1').length > before;
        }, `messages arrive again in round ${round}`);
        const { name, alter } = attackWith(random);
        const ways = [...['there', 'back'].filter(() => random.below(2) === 0), 'there'];
        let times = 0;
        mesh.proxy('a-1', 'b-1').alter((chunk, way) => {
          if (!ways.includes(way) || random.below(3) === 0) return [chunk];
          times++;
          return alter(chunk, way);
        });
        for (let i = 0; times < 4 && i < 400; i++) {
          sendTo(3);
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        mesh.proxy('a-1', 'b-1').cut();
        mesh.proxy('a-1', 'b-1').heal();
        const fault =
          faultIn(b.pings('a-1'), sent) ??
          (b.frames.some(({ from }) => from !== 'a-1') ? 'a foreign frame' : undefined);
        if (fault !== undefined) return `${name}: ${fault}`;
      }
      return undefined;
    } finally {
      await mesh.close();
    }
  }

  it('bytes that are altered, injected, replayed, reordered or dropped are never accepted, and links come up again', async () => {
    console.info(`SEED=${SEED}`);
    expect(await underAttack(SEED, {}, ROUNDS)).toBeUndefined();
  });

  it('the same attacks without TLS are noticed by the same check', async () => {
    expect(await underAttack(7, { tls: undefined }, 200)).toMatch(/was never sent|came after/);
  });

  it('a node that is led to another one refuses it, and links with the right one afterwards', async () => {
    const nodes = ['a-1', 'b-1', 'c-1'].map((node) => new Recorder(node));
    const mesh = await openMesh(nodes);
    closers.push(mesh.close);
    const first = mesh.transport('a-1');
    await until(() => first.linkUp('b-1') && first.linkUp('c-1'), 'all links are up');
    const proxy = mesh.proxy('a-1', 'b-1');
    proxy.redirect(mesh.transport('c-1').port);
    proxy.cut();
    proxy.heal();
    const statusOf = () => first.links().find(({ node }) => node === 'b-1')!;
    await until(() => statusOf().lastError?.code === 'PEER_REFUSED', 'the refusal');
    expect(statusOf()).toMatchObject({
      up: false,
      lastError: { detail: 'the certificate of the peer names isochron://shop/node/c-1, not isochron://shop/node/b-1' },
    });
    expect([first.linkUp('c-1'), nodes[2]!.turns('a-1')]).toEqual([true, [true]]);
    proxy.redirect(mesh.transport('b-1').port);
    await until(() => first.linkUp('b-1'), 'the link is up again');
  });
});
