/**
 * The requests and answers of a connection: its state as far as HTTP goes, and the bytes that the client leaves unread.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { OpenConnection, OpeningState } from '@isochron/transport';
import { hasBody } from '../requests/request-headers.js';

/** After the first head: a body is incomplete, an answer is made or sent, no request is under way. */
export type RequestState = 'head' | 'body' | 'answer' | 'idle';

export class HttpExchange {
  /** Requests so far. */
  requests = 0;
  /** The latest request, while it is under way. */
  #request: IncomingMessage | undefined;
  /** Answers to pipelined requests: those behind the first wait outside the socket. Some of them may be closed. */
  #answers: ServerResponse[] = [];
  #unsentBytes = 0;
  #unsentSinceMs = 0;
  /** The number of requests at the last look, and whether one was under way. */
  #seen = 0;
  #wasBusy = false;
  /** The bytes that had come at the first look without a request under way. */
  #restBytes = 0;

  constructor(
    readonly connection: Pick<OpenConnection<OpeningState | RequestState>, 'restart'>,
    readonly socket: Socket,
  ) {}

  /** Hot: a listener on each answer would cost more than a search for closed ones. */
  begin(request: IncomingMessage, answer: ServerResponse): void {
    this.requests++;
    this.#request = request;
    this.#dropClosed();
    this.#answers.push(answer);
  }

  /** The state now; undefined before the first request. */
  state(): RequestState | undefined {
    if (this.requests === 0) return undefined;
    const isNew = this.requests !== this.#seen;
    if (isNew) this.connection.restart(performance.now());
    this.#seen = this.requests;
    this.#dropClosed();
    const isSending = this.#request !== undefined && !this.#request.complete && hasBody(this.#request);
    const isBusy = isSending || this.#answers.length > 0;
    if (isNew || this.#wasBusy) this.#restBytes = this.socket.bytesRead;
    this.#wasBusy = isBusy;
    if (isBusy) return isSending ? 'body' : 'answer';
    this.#request = undefined;
    return this.socket.bytesRead > this.#restBytes ? 'head' : 'idle';
  }

  /** The bytes that the client has not read. */
  measure(nowMs: number): number {
    this.#dropClosed();
    const bytes = unsentBytes(this.socket, this.#answers);
    if (bytes === 0 || bytes < this.#unsentBytes || this.#unsentBytes === 0) this.#unsentSinceMs = nowMs;
    this.#unsentBytes = bytes;
    return bytes;
  }

  /** How long the client had read none of its waiting bytes at the last measure, ms. */
  stalledMs(nowMs: number): number {
    return nowMs - this.#unsentSinceMs;
  }

  /** Answers on one connection close in their order, or all together. */
  #dropClosed(): void {
    if (this.#answers[0]?.closed === true) this.#answers = this.#answers.filter(({ closed }) => !closed);
  }
}

/**
 * Unsent bytes of the socket. A large write leaves it in parts, and only the handle has the rest of it: under TLS, that
 * of the connection below.
 */
function unsentBytes(socket: Socket, answers: readonly ServerResponse[]): number {
  if (socket.writableLength === 0) return 0;
  let waiting = 0;
  if (answers.length > 1) for (const answer of answers) if (answer.socket === null) waiting += answer.writableLength;
  const handle = memberOf(socket, '_handle');
  const queued = Number(memberOf(memberOf(handle, '_parent') ?? handle, 'writeQueueSize'));
  return waiting + (queued > 0 ? queued : socket.writableLength);
}

const memberOf = (object: unknown, name: string): unknown =>
  typeof object === 'object' && object !== null ? Reflect.get(object, name) : undefined;
