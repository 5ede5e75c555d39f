/** Serves sessions on channels of shared sockets, for tests. */
import { EventEmitter } from 'node:events';
import { type ChannelEvents, Channels } from '@isochron/wire/channels/channels';
import { CHANNEL_LIMITS } from '@isochron/wire/channels/entries';
import type { WebSocket } from 'ws';

/** The socket of a session: a WebSocket, or a channel of a shared WebSocket. */
export interface ServedSocket {
  readonly OPEN: number;
  readonly readyState: number;
  on(event: 'message', listener: (data: Buffer) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  send(text: string): void;
  close(code: number, reason: string): void;
  terminate(): void;
}

/** A session's end of a channel. */
class ServedChannel extends EventEmitter implements ServedSocket {
  readonly OPEN = 1;
  readyState = 1;
  readonly #out: string[] = [];

  constructor(
    readonly channels: Channels,
    readonly number: number,
  ) {
    super();
  }

  send(text: string): void {
    this.#out.push(text);
    this.channels.ready(this.number);
  }

  next(): string | undefined {
    return this.#out.shift();
  }

  /** Ends the channel as a lost socket would, as far as a channel can. */
  terminate(): void {
    this.close(1012, 'cut');
  }

  close(code: number, reason: string): void {
    this.channels.close(this.number, code, reason);
    this.ended();
  }

  ended(): void {
    if (this.readyState !== this.OPEN) return;
    this.readyState = 3;
    this.emit('close');
  }
}

/** The node's end of a shared socket. */
export class SharedServerSocket implements ChannelEvents {
  readonly channels = new Channels(this, {
    maxMessageBytes: 2 ** 23,
    partialsOut: Number.POSITIVE_INFINITY,
    partialsIn: CHANNEL_LIMITS.partials,
  });
  readonly #served = new Map<number, ServedChannel>();

  /** @param connected called with each session */
  constructor(
    readonly socket: WebSocket,
    readonly connected: (session: ServedSocket) => void,
  ) {
    socket.on('message', (data: Buffer) => this.channels.receive(data));
    socket.on('close', () => {
      for (const served of this.#served.values()) served.ended();
    });
  }

  opened(channel: number) {
    const served = new ServedChannel(this.channels, channel);
    this.#served.set(channel, served);
    this.connected(served);
    return served;
  }

  received(channel: number, payload: Uint8Array): void {
    this.#served.get(channel)?.emit('message', Buffer.from(payload));
  }

  refused(channel: number, why: string): void {
    throw new Error(`channel ${channel}: ${why}`);
  }

  closed(channel: number): void {
    this.#served.get(channel)?.ended();
  }

  writable(): void {
    setImmediate(() => {
      for (let message = this.channels.takeMessage(); message !== undefined; message = this.channels.takeMessage())
        this.socket.send(message);
    });
  }
}
