/**
 * The peering port with real sockets: strangers learn and change nothing, and a peer that sends malformed data loses
 * only its link.
 */
import { SAMPLE_CONTEXT, transactionSamples } from '@isochron/testing/samples';
import { CLOSE_CODES, type LinkStatus, WebSocketTransport } from '@isochron/transport';
import { FrameCodec, Handshake, PROTOCOL_VERSION, randomNonce, UNPROTECTED } from '@isochron/wire';
import fc from 'fast-check';
import { WebSocket } from 'ws';
import { type NodeMessage, nodeSchema } from '../../server/src/node/messages.js';
import { servedProtocol } from '../../server/src/node/protocols.js';
import { damaged, damages, GIANT_HEADERS } from './damage.js';
import { fuzz } from './fuzz.js';
import { closeFrame, exchangeFrames, GIANT_FRAME, maskedFrame } from './sockets.js';

const SECRET = 'a secret for tests only';
const { now: NOW } = SAMPLE_CONTEXT;
const codec = new FrameCodec<NodeMessage>(nodeSchema(servedProtocol('paris')));
const samples = transactionSamples(SAMPLE_CONTEXT);
const frameOf = (message: NodeMessage): Uint8Array =>
  codec.encode({ hlc: NOW, envelopes: [{ to: 'replica/0', from: 'coordinator', message }] });
const frames = fc.constantFrom(...Object.values(samples)).map((message) => frameOf(message));

/** The identity of the node that links. */
const self = {
  nodeId: 'a-1',
  storeId: 'store-a',
  version: PROTOCOL_VERSION,
  clusterHash: 'c0ffee',
  hlc: NOW,
  protection: UNPROTECTED,
};

/** Codes with which the node may end a connection. */
const ENDS: readonly number[] = [...Object.values(CLOSE_CODES), 1002, 1006, 1007];

describe('the peering port', () => {
  let transport: WebSocketTransport<NodeMessage>;
  let received: NodeMessage[] = [];
  let linked: string[] = [];
  beforeAll(async () => {
    transport = await WebSocketTransport.open<NodeMessage>({
      self: 'b-1',
      // The node with the lower id dials, so this one only listens.
      peers: [{ node: 'a-1', url: 'ws://127.0.0.1:1' }],
      listen: { host: '127.0.0.1', port: 0 },
      secret: SECRET,
      clusterHash: 'c0ffee',
      storeId: 'store-b',
      codec,
      hlc: () => NOW,
      events: {
        frame: (_from, _hlc, envelopes) => received.push(...envelopes.map(({ message }) => message)),
        link: (node, up) => up && linked.push(node),
      },
    });
  });
  beforeEach(() => {
    received = [];
    linked = [];
  });
  afterAll(() => transport.close());

  const status = (): LinkStatus => transport.links()[0]!;
  const url = () => `ws://127.0.0.1:${transport.port}`;

  /** Opens a connection, sends something, and waits for its end. */
  function stranger(send: (socket: WebSocket) => void): Promise<number> {
    return new Promise((resolve) => {
      const socket = new WebSocket(url());
      socket.on('open', () => send(socket));
      socket.on('error', () => undefined);
      socket.on('close', (code) => resolve(code));
    });
  }

  /**
   * Links as the peer and sends the bytes. Either the node ends the link, or this side ends it when the node has read
   * all bytes.
   */
  function peer(bytes: Uint8Array): Promise<number> {
    const handshake = new Handshake({ role: 'initiator', self, secret: SECRET, nonce: randomNonce(), expected: 'b-1' });
    return new Promise((resolve) => {
      const socket = new WebSocket(url());
      let up = false;
      socket.on('open', () => socket.send(handshake.start().send!));
      socket.on('message', (data: Buffer) => {
        if (up) return;
        const { send, outcome } = handshake.receive(data);
        if (send !== undefined) socket.send(send);
        if (outcome?.status !== 'accepted') return;
        up = true;
        socket.send(bytes);
        socket.close(1000);
      });
      socket.on('error', () => undefined);
      socket.on('close', (code) => resolve(code));
    });
  }

  /** Messages of an honest peer are received. */
  const works = async (): Promise<void> => {
    received = [];
    await peer(frameOf(samples.Heartbeat));
    expect(received).toEqual([samples.Heartbeat]);
  };
  afterEach(works);

  fuzz(
    'the peering port ends the connection of a stranger that sends anything, and passes none of it on',
    60,
    [fc.uint8Array({ maxLength: 300 }), fc.boolean()],
    async (bytes, text) => {
      const code = await stranger((socket) => socket.send(text ? Buffer.from(bytes).toString('latin1') : bytes));
      expect(code).toBe(text ? CLOSE_CODES.FRAME_NOT_BINARY : CLOSE_CODES.PEER_REFUSED);
      expect([received, linked]).toEqual([[], []]);
    },
  );

  fuzz(
    'the peering port ends the connection of a stranger with a damaged hello',
    60,
    [damages, frames],
    async (changes, frame) => {
      const guess = new Handshake({ role: 'initiator', self, secret: 'guess', nonce: randomNonce() });
      const hello = damaged(guess.start().send!, changes);
      const code = await stranger((socket) => {
        socket.send(hello);
        socket.send(frame);
      });
      expect([CLOSE_CODES.PEER_REFUSED, CLOSE_CODES.PEER_VERSION_MISMATCH]).toContain(code);
      expect([received, linked]).toEqual([[], []]);
    },
  );

  fuzz(
    'the peering port accepts a frame or ends the link when a peer sends damaged frames',
    80,
    [frames, damages],
    async (frame, changes) => {
      received = [];
      const bytes = damaged(frame, changes);
      const code = await peer(bytes);
      expect(ENDS.concat(1000)).toContain(code);
      if (received.length === 0 && code !== 1000) {
        expect(['FRAME_INVALID', 'PEER_CONFIG_MISMATCH']).toContain(status().lastError?.code);
      }
      if (code === 1000) expect(codec.decode(bytes).envelopes.map(({ message }) => message)).toEqual(received);
    },
  );

  it.each(GIANT_HEADERS.map((header) => [Buffer.from(header).toString('hex'), header] as const))(
    'the peering port ends the link of a peer that declares more than it sends: %s',
    async (_, header) => {
      expect(await peer(header)).toBe(CLOSE_CODES.FRAME_INVALID);
      expect(status().lastError?.code).toBe('FRAME_INVALID');
      expect(received).toEqual([]);
    },
  );

  it('the peering port ends a connection whose message declares 4 GB, before its payload arrives', async () => {
    const answer = await exchangeFrames(transport.port, '/', GIANT_FRAME);
    expect(answer.subarray(0, 4)).toEqual(closeFrame(CLOSE_CODES.FRAME_TOO_LARGE));
  });

  fuzz(
    'the peering port ends a connection with data that is not WebSocket',
    40,
    [fc.uint8Array({ minLength: 1, maxLength: 100 }), fc.boolean()],
    async (bytes, masked) => {
      await exchangeFrames(transport.port, '/', masked ? maskedFrame(bytes) : bytes);
      expect([received, linked]).toEqual([[], []]);
    },
  );
});
