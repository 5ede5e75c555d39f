/** The rate at which each client may use a node: requests and bytes, over all of its connections. */
import { IsochronError, RateLimit } from '@isochron/core';
import type { LimitCounts } from './limit-counts.js';
import type { ServingLimits } from './serving-limits.js';

const SECOND_MS = 1000;
/** Requests that give something back are refused only so far above the limit. */
const RELEASE_MS = 1000;
/** A client has used most of its share once less than this part of it is left. */
const SCARCE = 0.5;
const DETAIL = 'This client has used its share of the node for now. Repeat the request after the time named here.';

export type RateBounds = Pick<
  ServingLimits,
  'requestsPerSecondPerClient' | 'bytesPerSecondPerClient' | 'refusalsPerSecondPerClient'
>;

export class Rates {
  readonly #requests: RateLimit;
  readonly #bytes: RateLimit;
  readonly #refusals: RateLimit;

  constructor(
    readonly bounds: RateBounds,
    /** Steady time, ms. */
    readonly steady: () => number,
    readonly counts: LimitCounts,
  ) {
    this.#requests = new RateLimit(bounds.requestsPerSecondPerClient, SECOND_MS);
    this.#bytes = new RateLimit(bounds.bytesPerSecondPerClient, SECOND_MS);
    this.#refusals = new RateLimit(bounds.refusalsPerSecondPerClient, SECOND_MS);
  }

  /**
   * A request comes. Hot: runs for each of them.
   * @param requests how many it counts as
   * @param bytesMs how long it has to wait for its client's bytes, where that is known
   * @returns 0 if it may be served; else after how many ms it may be sent again
   */
  take(client: string, requests: number, nowMs: number, bytesMs = this.#bytes.waitMs(client, nowMs)): number {
    if (bytesMs > 0) return this.#reached('bytesPerSecondPerClient', bytesMs);
    const requestsMs = this.#requests.take(client, requests, nowMs);
    return requestsMs === 0 ? 0 : this.#reached('requestsPerSecondPerClient', requestsMs);
  }

  /** As `take`, for a request that ends something or shows that the client is there: it may be above the limit. */
  takeAbove(client: string, nowMs: number): number {
    const waitMs = this.#requests.waitMs(client, nowMs);
    if (waitMs > RELEASE_MS) return this.#reached('requestsPerSecondPerClient', waitMs);
    this.#requests.charge(client, 1, nowMs);
    return 0;
  }

  /** A session of the client begins. @throws IsochronError `RATE_LIMITED` */
  greet(client: string): void {
    const retryAfterMs = this.takeAbove(client, this.steady());
    if (retryAfterMs > 0) throw rateLimited(retryAfterMs);
  }

  /**
   * Bytes have come from the client, or have been made for it.
   * @returns how long its next requests have to wait for them, ms
   */
  useBytes(client: string, bytes: number, nowMs: number): number {
    return this.#bytes.charge(client, bytes, nowMs);
  }

  /**
   * A request of the client is refused. Answers cost the node little, but not nothing.
   * @returns whether that happens too often: it is to be read from more slowly
   */
  refuse(client: string, nowMs: number): boolean {
    const floods = this.#refusals.take(client, 1, nowMs) > 0;
    if (floods) this.counts.reached('refusalsPerSecondPerClient');
    return floods;
  }

  /** Requests that the client may make at once now. */
  left(client: string, nowMs: number): number {
    return this.#requests.left(client, nowMs);
  }

  /** Whether a client has used most of its requests or bytes. */
  isScarce(client: string, nowMs: number): boolean {
    const [requests, bytes] = [this.#requests, this.#bytes];
    return requests.left(client, nowMs) < SCARCE * requests.units || bytes.left(client, nowMs) < SCARCE * bytes.units;
  }

  #reached(limit: keyof RateBounds, waitMs: number): number {
    this.counts.reached(limit);
    return waitMs;
  }
}

/** The refusal of a request that may be repeated after a while. */
export const rateLimited = (retryAfterMs: number): IsochronError =>
  new IsochronError('RATE_LIMITED', DETAIL, { retryAfterMs });
