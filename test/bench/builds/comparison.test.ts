import type { Sample } from '../rounds.js';
import { comparisonTable, ratioOfBuilds } from './comparison.js';

const sample = (operations: number, cpuUs: number): Sample => ({ operations, elapsedMs: 1000, cpuUs });

describe('bench:builds', () => {
  it('bench:builds compares each round with the round of the other build beside it', () => {
    // The machine is three times as fast in the second start.
    const slow = { own: [sample(90, 20), sample(110, 20)], other: [sample(100, 10), sample(100, 10)] };
    const fast = { own: [sample(300, 10)], other: [sample(300, 5)] };
    const rate = ratioOfBuilds([slow, fast], ({ operations }) => operations);
    expect(rate).toMatchObject({ median: 1, min: 1, max: 1 });
    expect(ratioOfBuilds([slow, fast], ({ cpuUs }) => cpuUs!)).toMatchObject({ median: 2, min: 2, max: 2 });
    const table = comparisonTable(new Map([['reads', [slow, fast]]]));
    expect(table).toMatch(/reads +│ 110\/s +│ 100\/s +│ 1 \(1–1\) +│ 2 \(2–2\)/);
  });
});
