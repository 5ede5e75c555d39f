/** A bare client of `/v1/session` that sends given frames, valid or not. */
import { once } from 'node:events';
import { SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import { WebSocket } from 'ws';
import { until, within } from './until.js';

export type ReceivedFrame = { readonly type: string; readonly id?: number } & Readonly<Record<string, unknown>>;

export class SessionClient {
  readonly frames: ReceivedFrame[] = [];
  /** The code of the close; undefined while it is open. */
  closeCode: number | undefined;

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      const message: unknown = JSON.parse(data.toString('utf8'));
      this.frames.push(...((Array.isArray(message) ? message : [message]) as ReceivedFrame[]));
    });
    // Errors of the socket show in its close code.
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      this.closeCode = code;
    });
  }

  static async open(api: string): Promise<SessionClient> {
    const socket = new WebSocket(`${api.replace('http', 'ws')}/v1/session`, SESSION_SUBPROTOCOLS.json);
    const client = new SessionClient(socket);
    await within('the opening of a session', 10_000, once(socket, 'open'));
    return client;
  }

  async hello(fields: object = {}): Promise<ReceivedFrame> {
    this.send({ type: 'hello', ...fields });
    return this.next('welcome', ({ type }) => type === 'welcome');
  }

  /** Text and bytes go as they are, anything else as JSON. */
  send(message: unknown): void {
    this.socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  /** The first frame, received or future, that satisfies the condition. */
  next(what: string, wanted: (frame: ReceivedFrame) => boolean): Promise<ReceivedFrame> {
    const explain = (): string => `received ${JSON.stringify(this.frames)}, close code ${this.closeCode}`;
    return until(what, () => this.frames.find(wanted), { timeoutMs: 10_000, explain });
  }

  /** The close code, once the session is closed. */
  closed(): Promise<number> {
    return until('the close', () => this.closeCode, { timeoutMs: 10_000 });
  }

  async close(): Promise<void> {
    this.socket.close(1000);
    await this.closed();
  }
}
