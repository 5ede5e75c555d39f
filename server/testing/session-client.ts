/** A bare client of `/v1/session`, for tests. */
import { pack, unpack } from '@isochron/wire/msgpack';
import { SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import { WebSocket } from 'ws';

/** Any received frame. */
export type ReceivedFrame = { readonly type: string; readonly id?: number } & Readonly<Record<string, unknown>>;

/** The socket of a client: a WebSocket, or a channel of a shared one. */
export interface ClientSocket {
  readonly protocol: string;
  readonly readyState: number;
  on(event: 'message', listener: (data: Buffer, isBinary: boolean) => void): unknown;
  on(event: 'close', listener: (code: number) => void): unknown;
  on(event: 'error', listener: () => void): unknown;
  send(data: string | Uint8Array): void;
  close(code: number): void;
}

export class SessionClient<S extends ClientSocket = WebSocket> {
  readonly frames: ReceivedFrame[] = [];
  /** Frames in each message. */
  readonly batches: number[] = [];
  /** The close code. */
  readonly closed: Promise<number>;
  readonly #waiting = new Set<() => void>();

  constructor(readonly socket: S) {
    socket.on('message', (data: Buffer, isBinary: boolean) =>
      this.#received(isBinary ? unpack(data) : JSON.parse(String(data))),
    );
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on('close', (code) => {
        resolve(code);
        for (const wake of [...this.#waiting]) wake();
      });
    });
  }

  static async open(url: string, protocols: string | string[] = SESSION_SUBPROTOCOLS.json): Promise<SessionClient> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/session`, protocols);
    const client = new SessionClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', () => resolve());
      socket.once('error', reject);
    });
    return client;
  }

  async hello(fields: object = {}): Promise<ReceivedFrame> {
    this.send({ type: 'hello', ...fields });
    return this.next((frame) => frame.type === 'welcome' || frame.type === 'error');
  }

  /** Sends a frame, or an array of frames. */
  send(frame: object): void {
    this.socket.send(this.socket.protocol === SESSION_SUBPROTOCOLS.msgpack ? pack(frame) : JSON.stringify(frame));
  }

  /** Sends text and bytes as they are, anything else as JSON. */
  sendRaw(message: unknown): void {
    this.socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  /** The first frame, received or to come, that meets the condition. */
  next(wanted: (frame: ReceivedFrame) => boolean): Promise<ReceivedFrame> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = this.frames.find(wanted);
        if (found === undefined && this.socket.readyState !== WebSocket.CLOSED) return;
        this.#waiting.delete(look);
        if (found === undefined) reject(new Error(`closed; received ${JSON.stringify(this.frames)}`));
        else resolve(found);
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** The answer to a request. */
  answer(id: number): Promise<ReceivedFrame> {
    return this.next((frame) => frame.id === id);
  }

  close(): void {
    this.socket.close(1000);
  }

  #received(message: unknown): void {
    const frames = (Array.isArray(message) ? message : [message]) as ReceivedFrame[];
    this.batches.push(frames.length);
    this.frames.push(...frames);
    for (const wake of [...this.#waiting]) wake();
  }
}
