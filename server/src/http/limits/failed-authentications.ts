/** Bounds the wrong credentials that an address may send: guessing them is in vain, and checking them costs time. */
import { IsochronError, type Principal, RateLimit } from '@isochron/core';
import { type Done, rateLimited, type Serving } from '@isochron/sessions';
import type { NodeLimits } from './limits.js';

const MINUTE_MS = 60_000;
const LIMIT = 'failedAuthenticationsPerMinutePerAddress' satisfies keyof NodeLimits;

export class FailedAuthentications {
  readonly #failures: RateLimit;

  constructor(
    readonly limits: Pick<NodeLimits, typeof LIMIT>,
    readonly serving: Serving,
  ) {
    this.#failures = new RateLimit(limits[LIMIT], MINUTE_MS);
  }

  /**
   * Runs an authentication of the address, unless too many have failed: then it ends with `RATE_LIMITED`, and nothing
   * of the credentials is looked at, not even of right ones.
   */
  guard(address: string, authenticate: (done: Done<Principal>) => void, done: Done<Principal>): void {
    const { rates, reached } = this.serving;
    const waitMs = this.#failures.waitMs(address, rates.steady());
    if (waitMs > 0) {
      reached.reached(LIMIT);
      done(rateLimited(waitMs));
      return;
    }
    authenticate((result) => {
      const isWrong = result instanceof IsochronError && result.code === 'UNAUTHENTICATED';
      if (isWrong) this.#failures.charge(address, 1, rates.steady());
      done(result);
    });
  }
}
