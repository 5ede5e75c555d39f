/** Credentials that expire, as an application gives them and nodes accept them. */
import type { Random } from '@isochron/core';

/** Life times, ms. */
const LIVES_MS = [300, 1200, 1200, 1500, 2000, 4000, 3_600_000];
/** How long the application takes, ms. */
const DELAYS_MS = [0, 1, 30, 30, 200, 1500];

/** The answer of the application. */
export interface Given {
  readonly afterMs: number;
  /** Absent if it fails. */
  readonly credentials?: string;
}

export class Issuer {
  readonly #random: Random;
  /** The steady time at which each expires. */
  readonly #expiry = new Map<string, number>();

  constructor(random: Random) {
    this.#random = random;
  }

  /**
   * The application's answer to a request; undefined if it never answers.
   * @param isReliable it does not fail
   */
  give(nowMs: number, isReliable: boolean): Given | undefined {
    const random = this.#random;
    const fault = isReliable ? 1 : random.float();
    if (fault < 0.01) return undefined;
    const afterMs = random.pick(DELAYS_MS);
    if (fault < 0.1) return { afterMs };
    if (fault < 0.14) return { afterMs, credentials: 'wrong' };
    const cached = [...this.#expiry.keys()].at(-1);
    const credentials = fault < 0.2 && cached !== undefined ? cached : `credentials-${this.#expiry.size + 1}`;
    if (credentials !== cached) this.#expiry.set(credentials, nowMs + afterMs + random.pick(LIVES_MS));
    return { afterMs, credentials };
  }

  /** How long credentials are valid from now on, in ms; undefined where they are not. */
  leftMs(credentials: string | undefined, nowMs: number): number | undefined {
    const leftMs = Math.floor((this.#expiry.get(credentials ?? '') ?? 0) - nowMs);
    return leftMs > 0 ? leftMs : undefined;
  }
}
