/** A source of uniform numbers in [0, 1). */
export type RandomSource = () => number;

/**
 * The pause before an attempt, in ms, with full jitter: uniform between zero and `baseMs * 2^attempt`, at most `capMs`,
 * so that clients that failed together do not retry together.
 */
export const fullJitterMs = (random: RandomSource, attempt: number, baseMs: number, capMs: number): number =>
  random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30));
