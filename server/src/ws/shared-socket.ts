/** A socket that many sessions share: one message for all frames of a turn, and common pings. */

import type { ChannelSource } from '@isochron/wire/channels/channel';
import { type ChannelEvents, type ChannelRefusal, Channels } from '@isochron/wire/channels/channels';
import { ChannelFault } from '@isochron/wire/channels/entries';
import { SESSION_CLOSE } from '@isochron/wire/session-frames';
import type { WebSocket } from 'ws';
import type { ChannelOwner, SessionChannel } from './session-channel.js';

/** Unsent bytes above which no more is written: they delay the answers of other sessions. */
const FULL_BYTES = 1 << 18;
/** How long a socket may be without a channel, ms: before the first channel, and after the last channel. */
const UNUSED_MS = { first: 5000, later: 60_000 };

export interface SharedSocketOptions {
  /** Largest message of a session, bytes. */
  readonly maxMessageBytes: number;
  /** Incomplete messages that the client may have at a time. */
  readonly partials: number;
  /** How long a client may take in none of its waiting bytes, ms. */
  readonly stalledMs: number;
  /** Serves a session on the channel; undefined, with the channel closed, where it is refused. */
  readonly admit: (owner: ChannelOwner, channel: number, subprotocol: string) => SessionChannel | undefined;
}

export class SharedSocket implements ChannelEvents, ChannelOwner {
  readonly channels: Channels;
  readonly #socket: WebSocket;
  readonly #sessions = new Map<number, SessionChannel>();
  /** Sessions that have had frames to send since they were settled, or still have some. */
  #sending = new Set<SessionChannel>();
  #flushing = false;
  /** Whether too many bytes are unsent to write more. */
  #full = false;
  #closed = false;
  #unusedSinceMs = performance.now();
  #wasUsed = false;
  readonly #flush = (): void => {
    this.#flushing = false;
    this.#sendAll();
  };
  readonly #sent = (): void => {
    if (this.#full && this.#socket.bufferedAmount <= FULL_BYTES / 2) this.#sendAll();
  };

  constructor(
    socket: WebSocket,
    readonly options: SharedSocketOptions,
  ) {
    this.#socket = socket;
    const { maxMessageBytes, partials } = options;
    this.channels = new Channels(this, {
      maxMessageBytes,
      partialsOut: Number.POSITIVE_INFINITY,
      partialsIn: partials,
    });
  }

  /** Sessions that are served here. */
  get sessions(): Iterable<SessionChannel> {
    return this.#sessions.values();
  }

  receive(data: Buffer, isBinary: boolean): void {
    if (this.#closed) return;
    try {
      if (!isBinary) throw new ChannelFault(SESSION_CLOSE.protocolError, 'a text message');
      this.channels.receive(data);
    } catch (error) {
      if (!(error instanceof ChannelFault)) throw error;
      this.close(error.code, 'FRAME_INVALID');
    }
  }

  /** The socket has closed, and its sessions with it. */
  disconnected(): void {
    this.#closed = true;
    for (const session of [...this.#sessions.values()]) session.disconnected();
  }

  /** Closes the socket, after the frames of its sessions that the client takes in. */
  close(code: number, reason: string): void {
    if (this.#closed) return;
    this.#sendAll();
    this.#closed = true;
    this.#socket.close(code, reason);
  }

  /** Ends sessions whose answers are not taken in, and the socket when it has been without a session for long. */
  check(nowMs: number): void {
    for (const session of this.#sending) session.checkStalled(nowMs, this.options.stalledMs);
    if (this.#sessions.size > 0) return;
    const limitMs = this.#wasUsed ? UNUSED_MS.later : UNUSED_MS.first;
    if (nowMs - this.#unusedSinceMs > limitMs) this.close(1000, 'unused');
  }

  opened(channel: number, subprotocol: string): ChannelSource {
    const session = this.options.admit(this, channel, subprotocol);
    if (session === undefined) return { next: () => undefined };
    this.#wasUsed = true;
    this.#sessions.set(channel, session);
    return session;
  }

  received(channel: number, payload: Uint8Array, isText: boolean): void {
    this.#sessions.get(channel)?.receive(payload, isText);
  }

  refused(channel: number, why: ChannelRefusal): void {
    this.#sessions.get(channel)?.refused(why);
  }

  closed(channel: number): void {
    this.#sessions.get(channel)?.disconnected();
  }

  writable(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(this.#flush);
  }

  sends(session: SessionChannel): void {
    this.#sending.add(session);
  }

  ended(session: SessionChannel): void {
    this.#sending.delete(session);
    this.#sessions.delete(session.number);
    this.#unusedSinceMs = performance.now();
  }

  /** Sends the frames that the client takes in, and settles the sessions that had some. */
  #sendAll(): void {
    while (!this.#closed && this.#socket.bufferedAmount <= FULL_BYTES) {
      const message = this.channels.takeMessage();
      if (message === undefined) break;
      this.#socket.send(message, this.#sent);
    }
    this.#full = this.#socket.bufferedAmount > FULL_BYTES;
    const those = this.#sending;
    this.#sending = new Set();
    for (const session of those) if (session.settle()) this.#sending.add(session);
  }
}
