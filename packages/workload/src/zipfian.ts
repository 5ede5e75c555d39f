import { invariant, type Random } from '@isochron/core';

/** Skew of YCSB and of the PaRiS evaluation. */
export const YCSB_THETA = 0.99;

/**
 * Draws positions in `[0, size)`. Holds no randomness of its own: one may be shared by many clients, each with its
 * seed.
 */
export interface Distribution {
  /** Number of items. */
  readonly size: number;
  /** The next position. */
  next(random: Random): number;
}

function checkSize(size: number): void {
  invariant(Number.isSafeInteger(size) && size > 0, () => `a distribution needs at least one item, not ${size}`);
}

/** Every item equally often. */
export class Uniform implements Distribution {
  constructor(readonly size: number) {
    checkSize(size);
  }

  next(random: Random): number {
    return random.below(this.size);
  }
}

/**
 * A share `hotDraws` of the draws falls on the first `hotItems` share of the items, evenly; the rest evenly on the
 * others. Both are fractions in [0, 1].
 */
export class Hotspot implements Distribution {
  readonly #hot: number;

  constructor(
    readonly size: number,
    hotItems = 0.2,
    readonly hotDraws = 0.8,
  ) {
    checkSize(size);
    invariant(hotItems >= 0 && hotItems <= 1 && hotDraws >= 0 && hotDraws <= 1, 'hotspot shares lie between 0 and 1');
    this.#hot = Math.min(size, Math.max(1, Math.round(size * hotItems)));
  }

  next(random: Random): number {
    const hot = this.#hot === this.size || random.chance(this.hotDraws);
    return hot ? random.below(this.#hot) : this.#hot + random.below(this.size - this.#hot);
  }
}

/**
 * Zipf: the item of rank k (from 0) is drawn with probability proportional to `1 / (k + 1)^theta`.
 *
 * Rejection-inversion (Hörmann and Derflinger, 1996): exact for every rank, constant time and memory whatever the size.
 * YCSB's own generator (Gray et al.) needs a sum over all items first and is only approximate beyond the first two
 * ranks.
 */
export class Zipf implements Distribution {
  readonly #integralFirst: number;
  readonly #integralLast: number;
  /** Within this distance of the rank, a point under the hat is accepted without evaluating the hat. */
  readonly #squeeze: number;

  /** `theta` is at least 0 (0 is uniform) and may exceed 1. */
  constructor(
    readonly size: number,
    readonly theta: number = YCSB_THETA,
  ) {
    checkSize(size);
    invariant(Number.isFinite(theta) && theta >= 0, () => `theta must be at least 0, not ${theta}`);
    this.#integralFirst = this.#integral(1.5) - 1;
    this.#integralLast = this.#integral(size + 0.5);
    this.#squeeze = 2 - this.#inverse(this.#integral(2.5) - this.#density(2));
  }

  next(random: Random): number {
    for (;;) {
      const area = this.#integralLast + random.float() * (this.#integralFirst - this.#integralLast);
      const x = this.#inverse(area);
      const rank = Math.min(this.size, Math.max(1, Math.round(x)));
      if (rank - x <= this.#squeeze || area >= this.#integral(rank + 0.5) - this.#density(rank)) return rank - 1;
    }
  }

  /** The hat `x^-theta`. */
  #density(x: number): number {
    return Math.exp(-this.theta * Math.log(x));
  }

  /** The integral of the hat from 1 to x, also where theta is 1 or close to it. */
  #integral(x: number): number {
    const log = Math.log(x);
    return ratio(Math.expm1, (1 - this.theta) * log) * log;
  }

  /** The inverse of {@link #integral}. */
  #inverse(area: number): number {
    return Math.exp(ratio(Math.log1p, Math.max(-1, area * (1 - this.theta))) * area);
  }
}

/** `f(x) / x` for the f with `f(x) ~ x` near 0, where the quotient itself would be 0 / 0. */
const ratio = (f: (x: number) => number, x: number): number => (Math.abs(x) < 1e-12 ? 1 : f(x) / x);

/** Another distribution with its popular items spread over the whole range. Needs 4 bytes an item. */
export class Scrambled implements Distribution {
  readonly #places: Uint32Array;

  /** The order of items is a permutation decided by `random`. */
  constructor(
    readonly inner: Distribution,
    random: Random,
  ) {
    this.#places = Uint32Array.from({ length: inner.size }, (_, i) => i);
    for (let i = inner.size - 1; i > 0; i--) {
      const j = random.below(i + 1);
      const held = this.#places[i]!;
      this.#places[i] = this.#places[j]!;
      this.#places[j] = held;
    }
  }

  get size(): number {
    return this.inner.size;
  }

  next(random: Random): number {
    return this.#places[this.inner.next(random)]!;
  }
}
