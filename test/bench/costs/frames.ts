/**
 * The cost of a frame beside its messages: WebSocket links of a hub with some peers over loopback, small frames in both
 * directions.
 */
import type { NodeId } from '@isochron/core';
import { type TransactionMessage, transactionSchema } from '@isochron/protocols';
import { type CostModel, Prices } from '@isochron/sim/scale/cost-model';
import { type Envelope, WebSocketTransport } from '@isochron/transport';
import { FrameCodec } from '@isochron/wire';
import type { CodecCosts } from './codec.js';
import { rounded } from './fit.js';

const PEERS = 8;
const HUB = 'hub';
/** Less than the hub's name: the node with the smaller name dials. */
const peerName = (i: number): NodeId => `a-peer-${i}`;
const MESSAGE: TransactionMessage = { type: 'GossipDown', ust: 2 ** 40, sOld: 2 ** 40, wallMs: 2 ** 40 };

type Transport = WebSocketTransport<TransactionMessage>;

/** @param frames the number measured, after half as many for warm-up */
export async function measureFrames(frames: number, { encode, decode }: CodecCosts): Promise<CostModel['frame']> {
  const game = new PingPong();
  try {
    await game.open();
    await game.play(frames / 2);
    const before = process.cpuUsage();
    await game.play(frames);
    const { user, system } = process.cpuUsage(before);
    const codecUs = [encode, decode].reduce((sum, costs) => sum + new Prices(costs).of(MESSAGE.type).cost.us, 0);
    // Each frame was sent once and received once.
    const eachUs = rounded(Math.max(0, (user + system) / frames - codecUs) / 2);
    return { sendUs: eachUs, receiveUs: eachUs };
  } finally {
    await game.close();
  }
}

class PingPong {
  readonly #transports = new Map<NodeId, Transport>();
  #left = 0;
  #links = 0;
  #onLink = (): void => {};
  #onEnd = (): void => {};

  async open(): Promise<void> {
    const names = Array.from({ length: PEERS }, (_, i) => peerName(i));
    const linked = new Promise<void>((resolve) => {
      this.#onLink = () => {
        if (++this.#links === 2 * PEERS) resolve();
      };
    });
    const hub = await this.#join(
      HUB,
      names.map((node) => ({ node, url: 'ws://127.0.0.1:1' })),
    );
    for (const name of names) await this.#join(name, [{ node: HUB, url: `ws://127.0.0.1:${hub.port}` }]);
    await linked;
  }

  /** Sends this many frames over the links. */
  async play(frames: number): Promise<void> {
    this.#left = frames;
    const ended = new Promise<void>((resolve) => {
      this.#onEnd = resolve;
    });
    for (let i = 0; i < PEERS; i++) this.#send(HUB, peerName(i));
    await ended;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#transports.values()].map((transport) => transport.close()));
  }

  async #join(self: NodeId, peers: readonly { node: NodeId; url: string }[]): Promise<Transport> {
    const transport = await WebSocketTransport.open<TransactionMessage>({
      self,
      peers,
      listen: { host: '127.0.0.1', port: 0 },
      secret: 'costs',
      clusterHash: 'costs',
      storeId: `store-of-${self}`,
      codec: new FrameCodec(transactionSchema),
      hlc: () => 2 ** 40,
      events: {
        frame: (from) => {
          if (--this.#left > 0) setImmediate(() => this.#send(self, from));
          else if (this.#left === 0) this.#onEnd();
        },
        link: () => this.#onLink(),
      },
    });
    this.#transports.set(self, transport);
    return transport;
  }

  #send(from: NodeId, to: NodeId): void {
    const machine = 'stabilization';
    const envelope: Envelope<TransactionMessage> = {
      to: { node: to, machine },
      from: { node: from, machine },
      message: MESSAGE,
    };
    this.#transports.get(from)!.send(to, [envelope]);
  }
}
