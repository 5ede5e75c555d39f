import type { SocketEvent, WebSocketLike } from './options.js';

/** A message in the form that a socket takes. */
export type Message = string | Uint8Array<ArrayBuffer>;
type EventName = 'open' | 'message' | 'close' | 'error';

/** Carries the messages of a session, once there is a socket. */
export interface Carrier {
  send(message: Message): void;
  close(code: number, reason: string): void;
  terminate(): void;
}

/** Close code of a socket that ended without a close. */
const LOST = 1006;

/** The WebSocket of one session, over its own or a shared socket. */
export class Member implements WebSocketLike {
  /** Fixed for shared sockets: bytes come as an `ArrayBuffer`. */
  binaryType = 'arraybuffer';
  carrier: Carrier | undefined;
  readonly #listeners = new Map<EventName, ((event: SocketEvent) => void)[]>();
  #isClosed = false;

  constructor(readonly subprotocol: string) {}

  addEventListener(type: EventName, listener: (event: SocketEvent) => void): void {
    const listeners = this.#listeners.get(type);
    if (listeners === undefined) this.#listeners.set(type, [listener]);
    else listeners.push(listener);
  }

  send(message: Message): void {
    this.carrier?.send(message);
  }

  close(code = 1000, reason = ''): void {
    this.carrier?.close(code, reason);
  }

  terminate(): void {
    this.carrier?.terminate();
  }

  /** Reports an event; none after the close. */
  emit(type: EventName, event: SocketEvent = {}): void {
    if (this.#isClosed) return;
    this.#isClosed = type === 'close';
    for (const listener of this.#listeners.get(type) ?? []) listener(event);
  }

  /** Ends it without a close, and reports that in a later turn, as sockets do. */
  end(message = ''): void {
    this.carrier = undefined;
    queueMicrotask(() => {
      this.emit('error', { message });
      this.emit('close', { code: LOST, reason: '' });
    });
  }

  /** Gets a whole socket for itself, which may be open already. */
  have(socket: WebSocketLike): void {
    socket.binaryType = this.binaryType;
    for (const type of ['open', 'message', 'error', 'close'] as const)
      socket.addEventListener(type, (event) => this.emit(type, event));
    this.carrier = {
      send: (message) => socket.send(message),
      close: (code, reason) => socket.close(code, reason),
      terminate: () => (socket.terminate === undefined ? socket.close(1000) : socket.terminate()),
    };
  }
}
