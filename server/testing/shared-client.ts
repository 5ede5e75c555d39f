/** A bare client of a shared socket, for tests: each of its channels is a socket to a {@link SessionClient}. */
import { EventEmitter, once } from 'node:events';
import { type ChannelEvents, Channels } from '@isochron/wire/channels/channels';
import { CHANNEL_LIMITS, SHARED_SUBPROTOCOL } from '@isochron/wire/channels/entries';
import { SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import { WebSocket } from 'ws';
import { type ClientSocket, SessionClient } from './session-client.js';

class ChannelSocket extends EventEmitter implements ClientSocket {
  readyState: number = WebSocket.OPEN;
  readonly #out: (string | Uint8Array)[] = [];
  readonly number: number;

  constructor(
    readonly channels: Channels,
    readonly protocol: string,
  ) {
    super();
    this.number = channels.open(protocol, { next: () => this.#out.shift() });
  }

  send(data: string | Uint8Array): void {
    this.#out.push(data);
    this.channels.ready(this.number);
  }

  close(code = 1000): void {
    this.channels.close(this.number, code, '');
  }

  closed(code: number): void {
    this.readyState = WebSocket.CLOSED;
    this.emit('close', code);
  }
}

export class SharedClient implements ChannelEvents {
  readonly channels = new Channels(this, {
    maxMessageBytes: 2 ** 30,
    partialsOut: CHANNEL_LIMITS.partials,
    partialsIn: Number.POSITIVE_INFINITY,
  });
  /** Channels of the entries in each message. */
  readonly batches: number[][] = [];
  /** The close code of the socket. */
  readonly closedCode: Promise<number>;
  readonly #sockets = new Map<number, ChannelSocket>();
  #batch: number[] = [];
  #flushing = false;

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      this.#batch = [];
      this.batches.push(this.#batch);
      this.channels.receive(data);
    });
    socket.on('error', () => undefined);
    this.closedCode = new Promise((resolve) => socket.on('close', resolve));
  }

  static async open(url: string): Promise<SharedClient> {
    const client = new SharedClient(new WebSocket(`${url.replace('http', 'ws')}/v1/session`, SHARED_SUBPROTOCOL));
    await once(client.socket, 'open');
    return client;
  }

  /** A session on a channel of its own. */
  session(protocol: string = SESSION_SUBPROTOCOLS.json): SessionClient<ChannelSocket> {
    const socket = new ChannelSocket(this.channels, protocol);
    this.#sockets.set(socket.number, socket);
    return new SessionClient(socket);
  }

  /** A session that has received its welcome. */
  async greeted(): Promise<SessionClient<ChannelSocket>> {
    const session = this.session();
    const { type } = await session.hello();
    if (type !== 'welcome') throw new Error(`not welcomed: ${type}`);
    return session;
  }

  received(channel: number, payload: Uint8Array, isText: boolean): void {
    this.#batch.push(channel);
    this.#sockets.get(channel)?.emit('message', Buffer.from(payload), !isText);
  }

  refused(channel: number): void {
    throw new Error(`channel ${channel} was sent too much`);
  }

  closed(channel: number, code: number): void {
    this.#sockets.get(channel)?.closed(code);
  }

  writable(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      for (let message = this.channels.takeMessage(); message !== undefined; message = this.channels.takeMessage())
        this.socket.send(message);
    });
  }
}
