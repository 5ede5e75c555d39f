import { lineThrough, nonNegativeLeastSquares, Samples } from './fit.js';

describe('lineThrough', () => {
  it('lineThrough finds the cost of one and of each item', () => {
    const points = [1, 2, 5, 20].map((items) => [items, 3 + 0.5 * items, 10] as const);
    expect(lineThrough(points)).toEqual({ us: 3, perItemUs: 0.5 });
  });

  it('lineThrough weighs points by their number of measurements', () => {
    const points = [
      [1, 10, 1_000_000],
      [2, 20, 1_000_000],
      [3, 999, 1],
    ] as const;
    const { us, perItemUs } = lineThrough(points);
    expect(us + perItemUs).toBeCloseTo(10, 1);
    expect(us + 2 * perItemUs).toBeCloseTo(20, 1);
  });

  it('lineThrough has no negative part: neither a cost of zero for many items, nor a negative cost of an item', () => {
    expect(
      lineThrough([
        [1, 8, 1],
        [2, 4, 1],
      ]),
    ).toEqual({ us: 6, perItemUs: 0 });
    expect(
      lineThrough([
        [10, 1, 1],
        [20, 5, 1],
      ]),
    ).toEqual({ us: 0, perItemUs: 0.2 });
    expect(lineThrough([[0, 7, 5]])).toEqual({ us: 7, perItemUs: 0 });
  });
});

describe('Samples', () => {
  it('Samples leave out interruptions, and kinds with few samples', () => {
    const samples = new Samples();
    for (let i = 0; i < 99; i++) samples.add('read', 4, 2);
    samples.add('read', 4, 4_000);
    samples.add('rare', 0, 1);
    expect(samples.costs(10)).toEqual({ read: { us: 2, perItemUs: 0 }, other: { us: 2, perItemUs: 0 } });
    expect(samples.costs(10, 3).read).toEqual({ us: 6, perItemUs: 0 });
    expect(samples.totalUs).toBe(100 * 2 + 1);
  });

  it('Samples give unknown kinds the median cost', () => {
    const samples = new Samples();
    for (const [kind, us] of [
      ['a', 1],
      ['b', 5],
      ['c', 100],
    ] as const)
      samples.add(kind, 0, us);
    expect(samples.costs(1).other).toEqual({ us: 5, perItemUs: 0 });
  });
});

describe('nonNegativeLeastSquares', () => {
  it('nonNegativeLeastSquares solves a system with a solution', () => {
    const x = nonNegativeLeastSquares([
      { row: [1, 2], right: 8 },
      { row: [3, 1], right: 9 },
      { row: [1, 1], right: 5 },
    ]);
    expect(x[0]).toBeCloseTo(2, 6);
    expect(x[1]).toBeCloseTo(3, 6);
  });

  it('nonNegativeLeastSquares finds the best solution with a zero in place of a negative part', () => {
    const x = nonNegativeLeastSquares([
      { row: [1, 1], right: 1 },
      { row: [1, 2], right: 0 },
    ]);
    expect(x[1]).toBe(0);
    expect(x[0]).toBeCloseTo(0.5, 6);
  });
});
