/** How full the places for connections are: for readiness, and for the log when that changes. */
import type { FastifyBaseLogger } from 'fastify';

/** Shares of the places from which connections are near their limit, and below which they are no longer. */
const NEAR = 0.9;
const FREE = 0.8;
/** Least time between two lines about connections that were ended, ms. */
const LOG_EVERY_MS = 60_000;

export class Crowding {
  #isNear = false;
  #taken = 0;
  #ended = 0;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  /** @param max places for connections */
  constructor(
    readonly max: number,
    readonly log: Pick<FastifyBaseLogger, 'info' | 'warn'>,
  ) {}

  /** Why another node should get new connections; undefined while there is room. */
  get reason(): string | undefined {
    if (!this.#isNear) return undefined;
    return `near its limit of ${this.max} connections: it has ${this.#taken}`;
  }

  /** To be called often. */
  look(taken: number): void {
    this.#taken = taken;
    const isNear = taken >= (this.#isNear ? FREE : NEAR) * this.max;
    if (isNear === this.#isNear) return;
    this.#isNear = isNear;
    const fields = { connections: taken, limit: this.max };
    if (isNear) this.log.warn(fields, 'the connections are near their limit: other nodes should take new ones');
    else this.log.info(fields, 'there is room for connections again');
  }

  /** A connection was ended, as all places or those of its address are taken. */
  ended(address: string, nowMs: number): void {
    this.#ended++;
    if (nowMs - this.#loggedAtMs < LOG_EVERY_MS) return;
    this.#loggedAtMs = nowMs;
    const fields = { address, ended: this.#ended, connections: this.#taken, limit: this.max };
    this.log.warn(fields, 'the limit of connections, or that of an address, is reached: connections are ended');
  }
}
