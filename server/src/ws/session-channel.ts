/** A session on a channel of a shared socket, with the interface of a socket of its own. */
import { isUtf8 } from 'node:buffer';
import type { Outgoing, ServedConnection, SessionLink } from '@isochron/sessions';
import type { ChannelSource } from '@isochron/wire/channels/channel';
import { type ChannelRefusal, type Channels, NO_ROOM } from '@isochron/wire/channels/channels';
import type { ClientTurns } from '../http/limits/turns.js';
import { AnswerQueue } from './answer-queue.js';
import type { Codec } from './codec.js';
import { Inbox } from './inbox.js';

/** The socket that the channel is on. */
export interface ChannelOwner {
  readonly channels: Channels;
  /** The session has frames to send: it is settled once all that can leave has left. */
  sends(session: SessionChannel): void;
  /** The session has ended. */
  ended(session: SessionChannel): void;
}

export interface SessionChannelOptions {
  /** Network address of the client. */
  readonly address: string;
  readonly maxMessageBytes: number;
  readonly turns: ClientTurns;
  /** Bytes that the client may send before its hello was accepted. */
  readonly strangerBytes: number;
  /** Called once the client's hello was accepted. */
  readonly greeted: () => void;
  /** Called once, when the session has ended. */
  readonly ended: () => void;
}

export class SessionChannel implements SessionLink, ChannelSource {
  readonly #channels: Channels;
  readonly connection: ServedConnection;
  readonly #inbox: Inbox;
  readonly #out: AnswerQueue;
  #greeted = false;
  #strangeBytes = 0;
  #paused = false;
  #ended = false;
  /** The state of its unsent bytes at the last check, and since when none of them has left. */
  #stalledAt = '';
  #stalledSinceMs = 0;

  constructor(
    readonly owner: ChannelOwner,
    readonly number: number,
    readonly codec: Codec,
    admit: (link: SessionLink) => ServedConnection,
    readonly options: SessionChannelOptions,
  ) {
    this.#channels = owner.channels;
    this.#out = new AnswerQueue(codec);
    this.#channels.limit(number, options.strangerBytes);
    this.connection = admit(this);
    this.#inbox = new Inbox(this, options.turns);
  }

  get maxMessageBytes(): number {
    return this.options.maxMessageBytes;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** Bytes that wait until the client takes them in; small frames do not count. */
  get waitingBytes(): number {
    return this.#out.bytes + this.#channels.unsentBytes(this.number);
  }

  get address(): string {
    return this.options.address;
  }

  greeted(): void {
    this.#greeted = true;
    this.#channels.limit(this.number, this.options.maxMessageBytes);
    this.options.greeted();
  }

  /** A message of the client: a frame, or an array of frames. */
  receive(payload: Uint8Array, isText: boolean): void {
    if (this.#ended) return;
    const data = Buffer.from(payload.buffer, payload.byteOffset, payload.length);
    if (!this.#greeted) this.#strangeBytes += data.length;
    if (this.#strangeBytes > this.options.strangerBytes) this.terminate();
    // As on a WebSocket: invalid UTF-8 must not become another document.
    else if (isText && !isUtf8(data)) this.connection.receiveUndecodable();
    else this.#inbox.receive(data, !isText);
  }

  refused(why: ChannelRefusal): void {
    if (why === 'too large') this.connection.receiveTooLarge();
    else this.terminate();
  }

  /** The session has ended: the client or this node has closed the channel, or the socket has closed. */
  disconnected(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#inbox.end();
    this.connection.disconnected();
    this.owner.ended(this);
    this.options.ended();
  }

  /** Ends the session for lack of room. */
  terminate(): void {
    this.close(NO_ROOM.code, NO_ROOM.reason);
  }

  rest(ms: number): void {
    this.#inbox.rest(ms);
  }

  send(outgoing: Outgoing): void {
    this.#out.push(outgoing);
    this.owner.sends(this);
    this.#channels.ready(this.number);
  }

  next(): string | Uint8Array | undefined {
    return this.#out.isEmpty ? undefined : this.#out.next();
  }

  pause(): void {
    this.#channels.pause(this.number);
  }

  resume(): void {
    if (!this.#paused && !this.#ended && !this.#inbox.isHeld) this.#channels.resume(this.number);
  }

  /**
   * Frames that were sent leave before the close. A client that does not answer the close holds no place: the session
   * has ended.
   */
  close(code: number, reason: string): void {
    this.#channels.close(this.number, code, reason);
    this.disconnected();
  }

  /**
   * All that could leave has left. A client that does not take in its answers is not read from either: waiting answers
   * stay within its credits.
   * @returns whether frames wait
   */
  settle(): boolean {
    if (this.#ended) return false;
    const waits = !this.#channels.isIdle(this.number);
    if (waits === this.#paused) return waits;
    this.#paused = waits;
    if (waits) this.#channels.pause(this.number);
    else {
      this.#stalledAt = '';
      this.resume();
    }
    return waits;
  }

  /** Ends the session where no waiting frame has left for `limitMs`. */
  checkStalled(nowMs: number, limitMs: number): void {
    const at = `${this.#out.bytes}/${this.#channels.unsentBytes(this.number)}/${this.#channels.untakenBytes(this.number)}`;
    if (at !== this.#stalledAt) {
      this.#stalledAt = at;
      this.#stalledSinceMs = nowMs;
    } else if (nowMs - this.#stalledSinceMs > limitMs) this.terminate();
  }
}
