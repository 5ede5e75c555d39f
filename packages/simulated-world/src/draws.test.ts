import { Random } from '@isochron/core';
import { exponential, logBetween, weighted } from './draws.js';

describe('draws', () => {
  const random = new Random(3);
  const many = (draw: () => number) => Array.from({ length: 20_000 }, draw);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

  it('exponential draws have the given mean', () => {
    const values = many(() => exponential(random, 7));
    expect(Math.abs(mean(values) - 7)).toBeLessThan(0.3);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
  });

  it('logarithmic draws give every order of magnitude equally often', () => {
    const values = many(() => logBetween(random, 1, 1000));
    const share = values.filter((value) => value < 10).length / values.length;
    expect(Math.abs(share - 1 / 3)).toBeLessThan(0.02);
    expect([Math.min(...values) >= 1, Math.max(...values) <= 1000]).toEqual([true, true]);
  });

  it('weighted draws follow their weights, and never give an entry of weight 0', () => {
    const values = Array.from({ length: 10_000 }, () =>
      weighted(random, [
        ['a', 3],
        ['never', 0],
        ['b', 1],
      ]),
    );
    expect(values).not.toContain('never');
    expect(Math.abs(values.filter((value) => value === 'a').length / values.length - 0.75)).toBeLessThan(0.03);
  });
});
