/** The socket of one session: encoding, one message for all frames of a turn, backpressure, signs of life. */
import { type FrameEncoder, isLarge, type Outgoing, type ServedConnection, type SessionLink } from '@isochron/sessions';
import type { WebSocket } from 'ws';
import type { Codec, Encoded } from './codec.js';

/** Unsent bytes above which nothing more is read from the client, and below which reading goes on. */
const PAUSE_BYTES = 1 << 20;
const RESUME_BYTES = 1 << 18;

export interface SessionSocketOptions {
  /** Network address of the client. */
  readonly address: string;
  readonly maxMessageBytes: number;
  /** Pings that the client may send in a second. */
  readonly pingsPerSecond: number;
  /** Called once the client has said who it is. */
  readonly greeted: () => void;
}

export class SessionSocket implements SessionLink {
  readonly #socket: WebSocket;
  readonly #connection: ServedConnection;
  /** Frames on their way out, not encoded yet. */
  #out: Outgoing[] = [];
  /** Bytes of the large ones among them. */
  #waitingBytes = 0;
  #flushing = false;
  #paused = false;
  #closed = false;
  #answersPing = true;
  #pings = 0;
  #pingsSince = 0;
  readonly #sent = (): void => this.#drained();
  readonly #flush = (): void => this.#sendAll();

  constructor(
    socket: WebSocket,
    readonly codec: Codec,
    admit: (link: SessionLink) => ServedConnection,
    readonly options: SessionSocketOptions,
  ) {
    this.#socket = socket;
    this.#connection = admit(this);
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** Bytes of what waits until the client reads; small frames do not count. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get address(): string {
    return this.options.address;
  }

  greeted(): void {
    this.options.greeted();
  }

  /** A WebSocket message: a frame, or an array of frames. */
  receive(data: Buffer, isBinary: boolean): void {
    if (this.#closed) return;
    if (data.length > this.options.maxMessageBytes) {
      this.#connection.receiveTooLarge();
      return;
    }
    let message: unknown;
    try {
      message = this.codec.decode(data, isBinary);
    } catch {
      this.#connection.receiveUndecodable();
      return;
    }
    this.#connection.receive(message);
  }

  /** The socket is gone. */
  disconnected(): void {
    this.#closed = true;
    this.#connection.disconnected();
  }

  /** Answers a ping. A client that sends many is ended: each takes an answer, and none counts against its credits. */
  pinged(data: Buffer): void {
    if (this.#closed) return;
    const now = performance.now();
    if (now - this.#pingsSince > 1000) {
      this.#pingsSince = now;
      this.#pings = 0;
    }
    this.#pings++;
    if (this.#pings > this.options.pingsPerSecond) this.terminate();
    else this.#socket.pong(data);
  }

  /** Asks for a sign of life; a client that gave none since the last time is gone. */
  checkAlive(): void {
    if (!this.#answersPing) {
      this.terminate();
      return;
    }
    this.#answersPing = false;
    this.#socket.ping();
  }

  /** Ends the connection without a farewell. */
  terminate(): void {
    this.#socket.terminate();
  }

  alive(): void {
    this.#answersPing = true;
  }

  send(outgoing: Outgoing): void {
    this.#out.push(outgoing);
    this.#waitingBytes += bytesOf(outgoing);
    if (this.#flushing || this.#paused) return;
    this.#flushing = true;
    setImmediate(this.#flush);
  }

  close(code: number, reason: string): void {
    this.#sendAll();
    this.#closed = true;
    if (this.#paused) this.#socket.resume();
    this.#socket.close(code, reason);
  }

  /** Sends what waits, as long as the client takes it in: what does not leave is not encoded. */
  #sendAll(): void {
    this.#flushing = false;
    while (this.#out.length > 0 && !this.#closed && !this.#paused) {
      this.#socket.send(this.codec.pack(this.#nextMessage()), this.#sent);
      if (this.#socket.bufferedAmount <= PAUSE_BYTES) continue;
      this.#paused = true;
      this.#socket.pause();
    }
  }

  /** Frames for one message, a large one by itself. */
  #nextMessage(): Encoded[] {
    let bytes = 0;
    let count = 0;
    for (; count < this.#out.length && bytes < PAUSE_BYTES; count++) bytes += bytesOf(this.#out[count]!);
    this.#waitingBytes -= bytes;
    const message: Encoded[] = [];
    for (let i = 0; i < count; i++) message.push(encoded(this.#out[i]!, this.codec));
    this.#out = count === this.#out.length ? [] : this.#out.slice(count);
    return message;
  }

  /** A client that does not read is not read from either: what waits for it stays within its credits. */
  #drained(): void {
    if (!this.#paused || this.#closed || this.#socket.bufferedAmount > RESUME_BYTES) return;
    this.#paused = false;
    this.#socket.resume();
    this.#sendAll();
  }
}

const bytesOf = (outgoing: Outgoing): number => (isLarge(outgoing) ? outgoing.bytes : 0);
const encoded = (outgoing: Outgoing, codec: FrameEncoder<Encoded>): Encoded =>
  isLarge(outgoing) ? outgoing.encode(codec) : codec.frame(outgoing);
