import type { NodeId } from '@isochron/core';
import type { Handshake, HandshakeStep, PeerInfo } from '@isochron/wire';
import { type RawData, WebSocket } from 'ws';
import { CLOSE_CODES, type CloseName, closeNameOf } from './close-codes.js';
import { DelayLine, realTime } from './delay-line.js';
import { certificateFault } from './identity.js';
import type { LinkTuning } from './options.js';

/** How a connection ended. */
export interface ConnectionEnd {
  readonly code: string;
  readonly detail: string;
  /** The node id that the peer sent, if the handshake got so far. */
  readonly claimed: NodeId | null;
}

/** The events of a connection for its owner. `closed` comes exactly once, `opened` before it or never. */
export interface ConnectionEvents {
  opened(connection: Connection, peer: PeerInfo): void;
  received(connection: Connection, bytes: Uint8Array): void;
  roundTrip(connection: Connection, ms: number): void;
  /** The peer, which was dialled, asks for a new connection in place of this one. */
  renewalAsked(connection: Connection): void;
  closed(connection: Connection, end: ConnectionEnd): void;
}

type Outgoing = { readonly kind: 'data' | 'ping' | 'pong'; readonly bytes: Uint8Array };

/** How long a peer may take to answer a close frame. */
const CLOSE_TIMEOUT_MS = 1_000;
/** The content of a ping that asks for a new connection. */
const RENEWAL = Buffer.from('renew');
/** A close frame has room for this many bytes of text. */
const MAX_REASON_BYTES = 120;

/** One WebSocket from its opening to its end: handshake with a deadline, frames, liveness, bounded buffer. */
export class Connection {
  readonly #socket: WebSocket;
  readonly #handshake: Handshake;
  readonly #tuning: LinkTuning;
  readonly #events: ConnectionEvents;
  readonly #line = new DelayLine<Outgoing>(realTime, (outgoing) => this.#leaveLine(outgoing));
  readonly #deadline: NodeJS.Timeout;
  #closing: NodeJS.Timeout | undefined;
  #state: 'opening' | 'up' | 'down' = 'opening';
  #end: ConnectionEnd | undefined;
  #reported = false;
  #peer: PeerInfo | undefined;
  #delayedBytes = 0;
  #receivedAt = performance.now();
  readonly #begunAt = performance.now();
  #ping: { readonly bytes: Uint8Array; readonly sentAt: number } | undefined;
  #pings = 0;

  /** Resolves when the socket is closed. */
  readonly gone: Promise<void>;
  /** One-way delay of outgoing frames, to emulate a WAN. */
  delayMs: number;

  constructor(socket: WebSocket, handshake: Handshake, tuning: LinkTuning, delayMs: number, events: ConnectionEvents) {
    this.#socket = socket;
    this.#handshake = handshake;
    this.#tuning = tuning;
    this.#events = events;
    this.delayMs = delayMs;
    this.#deadline = setTimeout(
      () => this.close('HANDSHAKE_TIMEOUT', 'no handshake in time'),
      tuning.handshakeTimeoutMs,
    );
    socket.on('message', (data, isBinary) => this.#take(data, isBinary));
    socket.on('ping', (bytes) => this.#takePing(bytes));
    socket.on('pong', (bytes) => this.#takePong(bytes));
    socket.on('error', (error) => this.#takeError(error));
    socket.on('close', (code, reason) => this.#takeClose(code, reason.toString()));
    this.gone = new Promise((resolve) => socket.once('close', () => resolve()));
    if (socket.readyState === WebSocket.OPEN) this.#advance(handshake.start());
    else socket.on('open', () => this.#state === 'opening' && this.#advance(handshake.start()));
  }

  /** Milliseconds since it was begun. */
  get ageMs(): number {
    return performance.now() - this.#begunAt;
  }

  get up(): boolean {
    return this.#state === 'up';
  }

  /** The peer, once it was accepted. */
  get peer(): PeerInfo | undefined {
    return this.#peer;
  }

  /** Time since the last data from the peer, ms. */
  get silentMs(): number {
    return performance.now() - this.#receivedAt;
  }

  /** Sends a frame; false when the connection is not up, or ends now because its buffer is full. */
  send(bytes: Uint8Array): boolean {
    if (this.#state !== 'up') return false;
    const waiting = this.#socket.bufferedAmount + this.#delayedBytes;
    if (waiting > this.#tuning.maxBufferedBytes) {
      this.#abort('BUFFER_FULL', `${waiting} bytes wait for the peer`);
      return false;
    }
    this.#transmit({ kind: 'data', bytes });
    return true;
  }

  /** Sends a ping, or ends the connection when the peer was silent for too long. Call at every ping interval. */
  keepAlive(stalled: boolean): void {
    if (this.#state !== 'up') return;
    const now = performance.now();
    // After a pause of this process, data that arrived meanwhile has not been read yet.
    if (stalled) this.#receivedAt = now;
    const silentMs = now - this.#receivedAt;
    if (silentMs > this.#tuning.deadAfterMs) this.#abort('PEER_SILENT', `no data for ${Math.round(silentMs)} ms`);
    else if (this.#ping === undefined) this.#sendPing(now);
  }

  /** Asks the peer, which has dialled, for a new connection: a ping that no keep-alive sends. */
  askForRenewal(): void {
    if (this.#state === 'up') this.#transmit({ kind: 'ping', bytes: RENEWAL });
  }

  /** Ends the connection with a close frame. The owner's `closed` is called before this returns. */
  close(name: CloseName, detail: string): void {
    if (this.#state === 'down') return;
    this.#goDown({ code: name, detail, claimed: this.#claimed() });
    this.#awaitClose();
    this.#socket.close(CLOSE_CODES[name], shortened(detail));
    this.#report();
  }

  /** Ends the connection after all sent bytes have left: the peer then has the reason of the refusal. */
  refuse(name: CloseName, detail: string): void {
    this.#line.flush();
    this.close(name, detail);
  }

  /** Ends the connection without a close frame: the peer does not read. The owner's `closed` is called later. */
  #abort(code: string, detail: string): void {
    this.#goDown({ code, detail, claimed: this.#claimed() });
    this.#socket.terminate();
  }

  #goDown(end: ConnectionEnd): void {
    this.#state = 'down';
    this.#end ??= end;
    clearTimeout(this.#deadline);
    this.#line.clear();
    this.#delayedBytes = 0;
  }

  #claimed(): NodeId | null {
    return this.#peer?.nodeId ?? null;
  }

  #report(): void {
    if (this.#reported) return;
    this.#reported = true;
    this.#events.closed(this, this.#end!);
  }

  #awaitClose(): void {
    this.#closing ??= setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS);
  }

  #take(data: RawData, isBinary: boolean): void {
    if (this.#state === 'down') return;
    this.#receivedAt = performance.now();
    if (!isBinary) this.close('FRAME_NOT_BINARY', 'a text frame');
    else if (this.#state === 'up') this.#events.received(this, data as Buffer);
    else this.#advance(this.#handshake.receive(data as Buffer));
  }

  #advance({ send, outcome }: HandshakeStep): void {
    if (outcome?.status === 'refused') {
      // Not through the delay line: closing would lose it.
      if (send !== undefined) this.#write({ kind: 'data', bytes: send });
      this.#end = { code: outcome.code, detail: outcome.detail, claimed: outcome.claimed };
      this.close(outcome.code, outcome.detail);
      return;
    }
    if (send !== undefined) this.#transmit({ kind: 'data', bytes: send });
    if (outcome === undefined) return;
    clearTimeout(this.#deadline);
    this.#state = 'up';
    this.#peer = outcome.peer;
    this.#events.opened(this, outcome.peer);
    this.keepAlive(true);
  }

  #transmit(outgoing: Outgoing): void {
    if (this.delayMs <= 0) {
      this.#write(outgoing);
      return;
    }
    this.#delayedBytes += outgoing.bytes.length;
    this.#line.push(outgoing, this.delayMs);
  }

  #leaveLine(outgoing: Outgoing): void {
    this.#delayedBytes -= outgoing.bytes.length;
    this.#write(outgoing);
  }

  #write({ kind, bytes }: Outgoing): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    if (kind === 'data') this.#socket.send(bytes);
    else if (kind === 'ping') this.#socket.ping(bytes);
    else this.#socket.pong(bytes);
  }

  #sendPing(now: number): void {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(++this.#pings >>> 0);
    this.#ping = { bytes, sentAt: now };
    this.#transmit({ kind: 'ping', bytes });
  }

  #takePing(bytes: Buffer): void {
    if (this.#state !== 'up') return; // no pong for a stranger
    this.#receivedAt = performance.now();
    // Answered here and not by ws, so that the answer is delayed as frames are.
    this.#transmit({ kind: 'pong', bytes: Uint8Array.from(bytes) });
    if (bytes.equals(RENEWAL)) this.#events.renewalAsked(this);
  }

  #takePong(bytes: Buffer): void {
    this.#receivedAt = performance.now();
    if (this.#ping === undefined || !bytes.equals(this.#ping.bytes)) return;
    const ms = this.#receivedAt - this.#ping.sentAt;
    this.#ping = undefined;
    if (this.#state === 'up') this.#events.roundTrip(this, ms);
  }

  #takeError(error: NodeJS.ErrnoException): void {
    this.#goDown({ ...reasonOf(error), claimed: this.#claimed() });
    // ws closes after an error, but waits long for the peer's answer.
    this.#awaitClose();
    this.#report();
  }

  #takeClose(code: number, reason: string): void {
    clearTimeout(this.#closing);
    this.#goDown({ code: closeNameOf(code), detail: reason, claimed: this.#claimed() });
    this.#report();
  }
}

/** The code of an error and its sentence. */
function reasonOf({ code = 'CONNECTION_LOST', message }: NodeJS.ErrnoException): Omit<ConnectionEnd, 'claimed'> {
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return { code: 'FRAME_TOO_LARGE', detail: message };
  const fault = certificateFault(code);
  return fault === undefined ? { code, detail: message || code } : { code: 'PEER_REFUSED', detail: fault };
}

/** Cut to what fits in a close frame, without a broken character at the end. */
function shortened(detail: string): string {
  const bytes = Buffer.from(detail);
  return bytes.length <= MAX_REASON_BYTES
    ? detail
    : bytes
        .subarray(0, MAX_REASON_BYTES - 3)
        .toString()
        .replace(/\ufffd$/, '');
}
