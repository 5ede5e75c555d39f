/**
 * How far the feed of a node has examined the live scopes of a connection while a request for their changes waits
 * (LQ9). The request waits in parts: each part that ends without a change tells how far that is.
 */
import { IsochronError, type Timestamp, type WallMs } from '@isochron/core';
import type { LiveReq } from '@isochron/protocols';
import type { CoordinatorPortFor, LiveAnswer } from '../coordinator/coordinator-port.js';
import type { Done, Unreferenced } from '../coordinator/request-port.js';

export class LiveProgress {
  /** Nothing in the scopes is pending up to here; undefined while no request waits, and before its first part ends. */
  to: Timestamp | undefined;
  /** Returns how long the next part waits, in ms. The connection sets it. */
  partMs = (): number => Number.POSITIVE_INFINITY;
  /** Called when `to` has risen. The connection sets it. */
  moved = (): void => {};
  #request = 0;

  constructor(readonly now: () => WallMs) {}

  /** A request begins, in place of the request before. Returns its number. */
  begin(): number {
    this.to = undefined;
    return ++this.#request;
  }

  /** A request has its answer. */
  end(request: number): void {
    if (request === this.#request) this.begin();
  }

  /** Asks for changes, part after part; ends with the first change, or when the whole wait is over. */
  ask(
    port: CoordinatorPortFor<'LiveReq'>,
    asked: Unreferenced<LiveReq>,
    request: number,
    done: Done<LiveAnswer>,
    untilMs: WallMs = this.now() + asked.waitMs,
  ): void {
    const beganMs = this.now();
    const leftMs = untilMs - beganMs;
    const waitMs = Math.max(0, Math.min(leftMs, this.partMs()));
    port.ask({ ...asked, waitMs }, (result) => {
      // A part that ends early is an answer: the feed has more to say, or another request has taken its place.
      const isPart = waitMs < leftMs && this.now() >= beganMs + waitMs && request === this.#request;
      if (!isPart || result instanceof IsochronError || result.changes.length > 0 || result.ended !== undefined) {
        done(result);
        return;
      }
      const { to } = result;
      this.ask(port, { ...asked, after: to, add: [], remove: [] }, request, done, untilMs);
      if (to <= asked.after || request !== this.#request) return;
      this.to = to;
      this.moved();
    });
  }
}
