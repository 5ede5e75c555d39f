/** Pings and pongs of a socket, in both directions. */
import type { WebSocket } from 'ws';

export class Liveness {
  #answersPing = true;
  #pings = 0;
  #pingsSince = 0;

  /** @param pingsPerSecond pings that the client may send in a second */
  constructor(
    readonly socket: WebSocket,
    readonly pingsPerSecond: number,
  ) {}

  /** Answers a ping. A client that sends too many is ended: each costs an answer, and none uses its credits. */
  pinged(data: Buffer): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    const now = performance.now();
    if (now - this.#pingsSince > 1000) {
      this.#pingsSince = now;
      this.#pings = 0;
    }
    this.#pings++;
    if (this.#pings > this.pingsPerSecond) this.socket.terminate();
    else this.socket.pong(data);
  }

  /** Pings; a client that has not answered since the last time is closed. */
  check(): void {
    if (!this.#answersPing) {
      this.socket.terminate();
      return;
    }
    this.#answersPing = false;
    this.socket.ping();
  }

  /** The client has answered a ping. */
  alive(): void {
    this.#answersPing = true;
  }
}
