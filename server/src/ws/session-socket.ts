/** The socket of one session: encoding, one message for all frames of a turn, backpressure. */
import type { Outgoing, ServedConnection, SessionLink } from '@isochron/sessions';
import type { WebSocket } from 'ws';
import type { ClientTurns } from '../http/limits/turns.js';
import { AnswerQueue } from './answer-queue.js';
import type { Codec } from './codec.js';
import { Inbox } from './inbox.js';

/** Unsent bytes above which nothing more is read from the client, and below which reading goes on. */
const PAUSE_BYTES = 1 << 20;
const RESUME_BYTES = 1 << 18;

export interface SessionSocketOptions {
  /** Network address of the client. */
  readonly address: string;
  readonly maxMessageBytes: number;
  readonly turns: ClientTurns;
  /** Called once the client's hello was accepted. */
  readonly greeted: () => void;
}

export class SessionSocket implements SessionLink {
  readonly #socket: WebSocket;
  readonly connection: ServedConnection;
  readonly #inbox: Inbox;
  readonly #out: AnswerQueue;
  #flushing = false;
  #paused = false;
  #closed = false;
  readonly #sent = (): void => this.#drained();
  readonly #flush = (): void => this.#sendAll();

  constructor(
    socket: WebSocket,
    readonly codec: Codec,
    admit: (link: SessionLink) => ServedConnection,
    readonly options: SessionSocketOptions,
  ) {
    this.#socket = socket;
    this.#out = new AnswerQueue(codec);
    this.connection = admit(this);
    this.#inbox = new Inbox(this, options.turns);
  }

  get maxMessageBytes(): number {
    return this.options.maxMessageBytes;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** Bytes that wait until the client reads them; small frames do not count. */
  get waitingBytes(): number {
    return this.#out.bytes;
  }

  get address(): string {
    return this.options.address;
  }

  greeted(): void {
    this.options.greeted();
  }

  /** A WebSocket message: a frame, or an array of frames. */
  receive(data: Buffer, isBinary: boolean): void {
    if (!this.#closed) this.#inbox.receive(data, isBinary);
  }

  /** The socket has closed. */
  disconnected(): void {
    this.#end();
    this.connection.disconnected();
  }

  /** Ends the connection without a close frame. */
  terminate(): void {
    this.#socket.terminate();
  }

  rest(ms: number): void {
    this.#inbox.rest(ms);
  }

  send(outgoing: Outgoing): void {
    this.#out.push(outgoing);
    if (this.#flushing || this.#paused) return;
    this.#flushing = true;
    setImmediate(this.#flush);
  }

  close(code: number, reason: string): void {
    this.#sendAll();
    this.#end();
    if (this.#socket.isPaused) this.#socket.resume();
    this.#socket.close(code, reason);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused && !this.#closed && !this.#inbox.isHeld) this.#socket.resume();
  }

  #end(): void {
    this.#closed = true;
    this.#inbox.end();
  }

  /** Sends waiting frames while the client takes them in: frames are encoded only when they leave. */
  #sendAll(): void {
    this.#flushing = false;
    while (!this.#out.isEmpty && !this.#closed && !this.#paused) {
      this.#socket.send(this.#out.next(), this.#sent);
      if (this.#socket.bufferedAmount <= PAUSE_BYTES) continue;
      this.#paused = true;
      this.#socket.pause();
    }
  }

  /** A client that does not read is not read from either: waiting answers stay within its credits. */
  #drained(): void {
    if (!this.#paused || this.#closed || this.#socket.bufferedAmount > RESUME_BYTES) return;
    this.#paused = false;
    this.resume();
    this.#sendAll();
  }
}
