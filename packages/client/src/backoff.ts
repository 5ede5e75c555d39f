/** A source of uniform numbers in [0, 1). */
export type RandomSource = () => number;

/** Full jitter: uniform between zero and `baseMs * 2^attempt`, at most `capMs`. */
export const fullJitterMs = (random: RandomSource, attempt: number, baseMs: number, capMs: number): number =>
  random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30));
