/** One `/v1/session` connection: greeting, requests in order, answers packed per turn, flow control. */
import { IsochronError } from '@isochron/core';
import { MAX_OPERATION_TOKEN_LENGTH } from '@isochron/sessions';
import { isFrame, optionalText, type RawFrame } from '@isochron/sessions/served/frames';
import { SESSION_CLOSE, type ServerFrame, type WelcomeFrame } from '@isochron/wire/session-frames';
import type { WebSocket } from 'ws';
import type { ApiContext } from '../http/context.js';
import { asIsochronError } from '../http/problem.js';
import type { Codec, Encoded } from './codec.js';
import type { Answer, LargeAnswer, Serve, ServedSession } from './served-session.js';

/** Requests that a client may have in flight. */
export const CREDITS = 256;
/** Frames in one message: a client with its credits needs no more, and each one that is refused costs an answer. */
const MAX_FRAMES = 2 * CREDITS;
/** How long a client may take to say hello, ms. */
const HELLO_TIMEOUT_MS = 5000;
/** Unsent bytes above which nothing more is read from the client, and below which reading goes on. */
const PAUSE_BYTES = 1 << 20;
const RESUME_BYTES = 1 << 18;
const MAX_CREDENTIALS = 4096;
/** The close codes of refused greetings that say more than *protocol error*. */
const HELLO_CLOSE: Readonly<Record<string, number>> = {
  UNAUTHENTICATED: SESSION_CLOSE.unauthenticated,
  NOT_READY: SESSION_CLOSE.restart,
};

export class SessionConnection {
  readonly #socket: WebSocket;
  readonly #helloTimer: NodeJS.Timeout;
  /** Answers on their way out, the large ones not encoded yet. */
  #out: (Encoded | LargeAnswer)[] = [];
  #flushing = false;
  #paused = false;
  #greeted = false;
  #sentAway = false;
  #closed = false;
  #inFlight = 0;
  #lastId = 0;
  #answersPing = true;
  readonly #sent = (): void => this.#drained();
  readonly #flush = (): void => this.#sendAll();

  constructor(
    socket: WebSocket,
    readonly codec: Codec,
    readonly api: ApiContext,
    readonly session: ServedSession,
  ) {
    this.#socket = socket;
    this.#helloTimer = setTimeout(() => {
      this.#fail(new IsochronError('UNAUTHENTICATED', 'No hello in time.'), SESSION_CLOSE.unauthenticated);
    }, HELLO_TIMEOUT_MS);
  }

  /** A WebSocket message: a frame, or an array of frames. */
  receive(data: Buffer, isBinary: boolean): void {
    if (this.#closed) return;
    const { maxRequestBytes } = this.api.rules.limits;
    if (data.length > maxRequestBytes) {
      const detail = `A message may have ${maxRequestBytes} bytes at most.`;
      this.#fail(new IsochronError('REQUEST_TOO_LARGE', detail), SESSION_CLOSE.tooLarge);
      return;
    }
    let raw: unknown;
    try {
      raw = this.codec.decode(data, isBinary);
    } catch {
      this.#invalid('The message cannot be decoded.');
      return;
    }
    if (!Array.isArray(raw)) this.#frame(raw);
    else if (raw.length <= MAX_FRAMES) for (const frame of raw) this.#frame(frame);
    else this.#invalid(`A message holds ${MAX_FRAMES} frames at most.`);
  }

  /** The socket is gone. */
  disconnected(): void {
    this.#closed = true;
    clearTimeout(this.#helloTimer);
  }

  /**
   * Tells the client how far stable time is, unless it was told, and how fresh. Called about once a second.
   * @param news whether more has changed than the time
   */
  tellUst(news: boolean): void {
    const ust = this.api.node.ust();
    if (!this.#greeted || this.#paused || (ust <= this.session.told && !news)) return;
    this.session.told = Math.max(ust, this.session.told);
    this.#send({ type: 'ust', ust, freshness: this.api.stability.freshness, ...this.#unresponsive() });
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

  /** Sends the client elsewhere: it may come back after `delayMs`. Until it has gone it is served. */
  goaway(reason: string, delayMs: number): void {
    if (this.#sentAway || this.#closed) return;
    this.#sentAway = true;
    if (this.#greeted) this.#send({ type: 'goaway', reason, delayMs });
    else this.#fail(this.api.serving.notReady(), SESSION_CLOSE.restart);
  }

  /** Ends the connection. */
  close(reason: string): void {
    if (!this.#closed) this.#close(SESSION_CLOSE.restart, reason);
  }

  #frame(frame: unknown): void {
    if (this.#closed) return;
    if (!isFrame(frame)) this.#invalid('A frame is an object.');
    else if (this.#greeted) this.#request(frame);
    else this.#hello(frame);
  }

  #hello(frame: RawFrame): void {
    if (frame.type !== 'hello') {
      this.#invalid('The first frame has to be hello.');
      return;
    }
    try {
      this.api.serving.admitSession();
      const principal = this.api.auth.principal(optionalText(frame, 'credentials', MAX_CREDENTIALS));
      this.session.begin(principal, optionalText(frame, 'token', MAX_OPERATION_TOKEN_LENGTH));
    } catch (thrown) {
      const error = asIsochronError(thrown);
      this.#fail(error, HELLO_CLOSE[error.code] ?? SESSION_CLOSE.protocolError);
      return;
    }
    clearTimeout(this.#helloTimer);
    this.#greeted = true;
    this.#send(this.#welcome());
  }

  #welcome(): WelcomeFrame {
    const { id, region, config, protocol } = this.api.node;
    return {
      type: 'welcome',
      region,
      node: id,
      cluster: config.cluster,
      protocol: config.protocol,
      capabilities: [...protocol.capabilities],
      ...this.session.greeting(),
      freshness: this.api.stability.freshness,
      ...this.#unresponsive(),
      credits: CREDITS,
      limits: config.settings.limits,
      maxTransactionMs: config.settings.maxTransactionMs,
      regions: config.regions.map((r) => ({ id: r.id, endpoints: r.nodes.map((n) => n.api) })),
    };
  }

  #unresponsive(): Pick<WelcomeFrame, 'unresponsive'> {
    const { unresponsive } = this.api.node;
    return unresponsive.nodes.length === 0 ? {} : { unresponsive };
  }

  #request(frame: RawFrame): void {
    const { id, type } = frame;
    const serve = this.session.serves(type);
    if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0) {
      const unknown = typeof type === 'string' && type !== 'hello' && serve === undefined;
      if (unknown)
        this.#fail(new IsochronError('FRAME_TYPE_UNKNOWN', 'No such type of frame.'), SESSION_CLOSE.protocolError);
      else this.#invalid('A request has no id.');
      return;
    }
    if (id <= this.#lastId) {
      this.#refuse(
        id,
        new IsochronError('REQUEST_ID_REUSED', `The id ${id} is not above the last one, ${this.#lastId}.`),
      );
      return;
    }
    this.#lastId = id;
    if (serve === undefined) this.#refuse(id, new IsochronError('FRAME_TYPE_UNKNOWN', 'No such type of frame.'));
    else if (this.#inFlight >= CREDITS)
      this.#refuse(id, new IsochronError('CREDITS_EXHAUSTED', `At most ${CREDITS} in flight.`));
    else this.#run(id, frame, serve);
  }

  #run(id: number, frame: RawFrame, serve: Serve): void {
    let answer: Promise<Answer>;
    try {
      answer = serve(frame, id);
    } catch (error) {
      this.#refuse(id, error);
      return;
    }
    this.#inFlight++;
    answer.then(
      (done) => {
        this.#inFlight--;
        this.#push('encode' in done ? done : this.codec.frame(done));
      },
      (error: unknown) => {
        this.#inFlight--;
        this.#refuse(id, error);
      },
    );
  }

  #refuse(id: number, thrown: unknown): void {
    const error = asIsochronError(thrown);
    if (error.code === 'INTERNAL') this.api.log.error({ err: error.cause ?? error }, 'session request failed');
    this.#send({ type: 'error', id, code: error.code, detail: error.message, retryable: error.retryable });
  }

  #invalid(detail: string): void {
    this.#fail(new IsochronError('FRAME_INVALID', detail), SESSION_CLOSE.protocolError);
  }

  /** The connection cannot go on. */
  #fail(error: IsochronError, closeCode: number): void {
    this.#send({ type: 'error', code: error.code, detail: error.message, retryable: error.retryable });
    this.#close(closeCode, error.code);
  }

  #close(code: number, reason: string): void {
    this.#sendAll();
    this.#closed = true;
    clearTimeout(this.#helloTimer);
    if (this.#paused) this.#socket.resume();
    this.#socket.close(code, reason);
  }

  #send(frame: ServerFrame): void {
    this.#push(this.codec.frame(frame));
  }

  #push(answer: Encoded | LargeAnswer): void {
    if (this.#closed) return;
    this.#out.push(answer);
    if (this.#flushing || this.#paused) return;
    this.#flushing = true;
    setImmediate(this.#flush);
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
    const message = this.#out.slice(0, count).map(encoded);
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

const isLarge = (answer: Encoded | LargeAnswer): answer is LargeAnswer =>
  typeof answer === 'object' && 'encode' in answer;
const bytesOf = (answer: Encoded | LargeAnswer): number => (isLarge(answer) ? answer.bytes : 0);
const encoded = (answer: Encoded | LargeAnswer): Encoded => (isLarge(answer) ? answer.encode() : answer);
