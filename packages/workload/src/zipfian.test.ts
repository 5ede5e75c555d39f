import { Random } from '@isochron/core';
import fc from 'fast-check';
import { type Distribution, Hotspot, Scrambled, Uniform, Zipf } from './zipfian.js';

function countDraws(distribution: Distribution, seed: number, draws: number): number[] {
  const counts = new Array<number>(distribution.size).fill(0);
  const random = new Random(seed);
  for (let i = 0; i < draws; i++) counts[distribution.next(random)]!++;
  return counts;
}

const zipfShares = (size: number, theta: number): number[] => {
  const weights = Array.from({ length: size }, (_, k) => (k + 1) ** -theta);
  const sum = weights.reduce((a, b) => a + b);
  return weights.map((w) => w / sum);
};

/** Pearson's statistic, in standard deviations above its mean under the expected shares. */
function excess(counts: readonly number[], shares: readonly number[]): number {
  const draws = counts.reduce((a, b) => a + b);
  const chi2 = counts.reduce((sum, n, i) => sum + (n - draws * shares[i]!) ** 2 / (draws * shares[i]!), 0);
  const freedom = counts.length - 1;
  return (chi2 - freedom) / Math.sqrt(2 * freedom);
}

describe('Zipf', () => {
  it.each([
    [0.5, 50],
    [0.99, 100],
    [0.99, 1000],
    [1, 100],
    [1.5, 40],
  ])('Zipf draws each rank at the frequency of theta %p, over %p items', (theta, size) => {
    const counts = countDraws(new Zipf(size, theta), 4711, 400_000);
    expect(excess(counts, zipfShares(size, theta))).toBeLessThan(4);
  });

  it('the frequencies of a slightly different theta fail the test above', () => {
    const counts = countDraws(new Zipf(100, 0.99), 4711, 400_000);
    expect(excess(counts, zipfShares(100, 0.97))).toBeGreaterThan(10);
  });

  it('Zipf with theta 0 is uniform', () => {
    const counts = countDraws(new Zipf(64, 0), 9, 200_000);
    expect(excess(counts, zipfShares(64, 0))).toBeLessThan(4);
  });

  it('Zipf stays in range for any size, theta and seed', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000_000 }),
        fc.double({ min: 0, max: 5, noNaN: true }),
        fc.nat(),
        (size, theta, seed) => {
          const zipf = new Zipf(size, theta);
          const random = new Random(seed);
          for (let i = 0; i < 50; i++) {
            const rank = zipf.next(random);
            expect(Number.isInteger(rank) && rank >= 0 && rank < size).toBe(true);
          }
        },
      ),
    );
  });

  it('Zipf gives the same ranks for the same seed and others for another', () => {
    const draw = (seed: number) => {
      const random = new Random(seed);
      const zipf = new Zipf(1000);
      return Array.from({ length: 20 }, () => zipf.next(random));
    };
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
  });

  it.each([0, -1, 1.5, Number.NaN])('Zipf refuses %p items', (size) => {
    expect(() => new Zipf(size)).toThrow(/at least one item/);
  });

  it.each([-0.1, Number.NaN, Number.POSITIVE_INFINITY])('Zipf refuses theta %p', (theta) => {
    expect(() => new Zipf(10, theta)).toThrow(/theta/);
  });
});

describe('the other distributions', () => {
  it('Uniform draws every item equally often', () => {
    const counts = countDraws(new Uniform(100), 3, 200_000);
    expect(excess(counts, zipfShares(100, 0))).toBeLessThan(4);
  });

  it('Hotspot puts its share of the draws on its share of the items, evenly on both sides', () => {
    const counts = countDraws(new Hotspot(100, 0.1, 0.7), 5, 300_000);
    const shares = counts.map((_, i) => (i < 10 ? 0.7 / 10 : 0.3 / 90));
    expect(excess(counts, shares)).toBeLessThan(4);
  });

  it('Hotspot over one item draws that item', () => {
    expect(countDraws(new Hotspot(1, 0.2, 0), 5, 10)).toEqual([10]);
  });

  it('Scrambled keeps how often items are drawn and only moves them', () => {
    const plain = countDraws(new Zipf(200), 8, 50_000);
    const moved = countDraws(new Scrambled(new Zipf(200), new Random(77)), 8, 50_000);
    expect(moved).not.toEqual(plain);
    expect([...moved].sort((a, b) => a - b)).toEqual([...plain].sort((a, b) => a - b));
  });
});
