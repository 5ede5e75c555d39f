import { hashKey, Random } from '@isochron/core';

/**
 * Sources of randomness by purpose, all from one seed. Draws from one of them do not change the others, so a plan that
 * loses a session or a fault keeps the rest of its run as far as possible.
 */
export class Streams {
  constructor(readonly seed: number) {}

  /** The source of a purpose, always from its beginning. */
  of(...purpose: readonly (string | number)[]): Random {
    const name = purpose.join('/');
    const low = hashKey(`${this.seed}|${name}`);
    const high = hashKey(`${name}|${this.seed}`) % 2 ** 21;
    return new Random(high * 2 ** 32 + low);
  }
}
