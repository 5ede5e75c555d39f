import { type ClusterSpec, type Deps, Topology } from '@isochron/core';
import fc from 'fast-check';
import {
  elementsOf,
  isMatrix,
  matrixSession,
  mergedMatrix,
  needsOf,
  newestOf,
  only,
  rowOf,
} from './dependency-matrix.js';

const RUNS = { seed: 20_261_120, numRuns: 300 };
const spec: ClusterSpec = {
  regions: ['a', 'b', 'c'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [{ name: 'default', partitions: 4, replication: 3 }],
};
const topology = Topology.of(spec);

/** As the paper has it: N×M numbers. */
const dense = fc.array(fc.array(fc.nat(3), { minLength: 3, maxLength: 3 }), { minLength: 4, maxLength: 4 });
const sparse = (rows: readonly (readonly number[])[]): Deps =>
  rows.flatMap((row, n) => row.flatMap((ts, m) => (ts === 0 ? [] : [n, m, ts])));

describe('sparse dependency matrices', () => {
  it('sparse matrices have the merge, the rows and the greatest element of N×M numbers', () => {
    fc.assert(
      fc.property(dense, dense, fc.nat(3), (a, b, n) => {
        const [x, y] = [sparse(a), sparse(b)];
        expect(isMatrix(x, topology)).toBe(true);
        expect(mergedMatrix(x, y)).toEqual(sparse(a.map((row, i) => row.map((ts, j) => Math.max(ts, b[i]![j]!)))));
        expect(rowOf(x, n)).toEqual(sparse(a.map((row, i) => (i === n ? row : [0, 0, 0]))));
        expect(newestOf(x)).toBe(Math.max(...a.flat()));
      }),
      RUNS,
    );
  });

  it('a merge leaves out the incomplete element at the end of a matrix from a broken node', () => {
    expect(mergedMatrix([0, 0, 5], [0])).toEqual([0, 0, 5]);
    expect(mergedMatrix([0, 0, 5, 1], [0, 1, 7, 2, 2])).toEqual([0, 0, 5, 0, 1, 7]);
  });

  it('a list with elements out of order, repeated, cut off or of no replica is not a matrix (D12)', () => {
    expect(isMatrix([], topology)).toBe(true);
    expect(isMatrix([0, 2, 9, 1, 0, 3], topology)).toBe(true);
    for (const wrong of [[0], [0, 0], [4, 0, 1], [0, 3, 1], [1, 0, 1, 0, 0, 1], [0, 1, 1, 0, 1, 2]]) {
      expect(isMatrix(wrong, topology)).toBe(false);
    }
  });

  it('the needs of a matrix name regions', () => {
    expect(needsOf([1, 2, 9], topology)).toEqual([{ partition: 1, region: 'c', ts: 9 }]);
    expect(elementsOf(only(3, 1, 7))).toEqual([{ partition: 3, region: 1, ts: 7 }]);
  });

  it("a session's matrix keeps what it reads, and after a PUT only the PUT's element", () => {
    const read = matrixSession.merge([0, 0, 5], [0, 0, 3, 1, 1, 4]);
    expect(read).toEqual([0, 0, 5, 1, 1, 4]);
    expect(matrixSession.wrote(read, only(2, 0, 9))).toEqual([2, 0, 9]);
  });
});
