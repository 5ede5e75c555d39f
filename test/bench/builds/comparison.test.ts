import type { Sample } from '../rounds.js';
import { comparisonTable, ratioOfBuilds } from './comparison.js';

const sample = (operations: number, cpuUs: number): Sample => ({ operations, elapsedMs: 1000, cpuUs });

describe('bench:builds', () => {
  it('bench:builds compares each round with the round of the other build beside it', () => {
    // The machine becomes twice as fast within the first start, and faster still in the second.
    const first = { own: [sample(90, 20), sample(220, 10)], other: [sample(100, 10), sample(200, 5)] };
    const second = { own: [sample(360, 10)], other: [sample(300, 5)] };
    const rate = ratioOfBuilds([first, second], ({ operations }) => operations);
    expect(rate.median).toBeCloseTo(1.1);
    expect(rate.min).toBeCloseTo(1);
    expect(rate.max).toBeCloseTo(1.2);
    expect(ratioOfBuilds([first, second], ({ cpuUs }) => cpuUs!)).toMatchObject({ median: 2, min: 2, max: 2 });
    const table = comparisonTable(new Map([['reads', [first, second]]]));
    expect(table).toMatch(/reads +│ 220\/s +│ 200\/s +│ 1\.1 \(1–1\.2\) +│ 2 \(2–2\)/);
  });
});
