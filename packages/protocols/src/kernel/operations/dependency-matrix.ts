/**
 * Sparse dependency matrices (Orbe, section 3.1): one entry for each partition and region with dependencies, as triples
 * of the partition, the region's position in the cluster file and a timestamp, in this order. An element stands for
 * everything that this replica has sourced up to its timestamp. Zeros take no room.
 */
import type { Deps, PartitionId, Timestamp, Topology } from '@isochron/core';
import type { Need } from './protocol.js';
import type { OperationSessionRules } from './session.js';

/** One nonzero element. */
export interface Element {
  readonly partition: PartitionId;
  /** The region's position in the cluster file. */
  readonly region: number;
  readonly ts: Timestamp;
}

/** Depends on nothing. */
export const NOTHING: Deps = [];

export function elementsOf(matrix: Deps): Element[] {
  const elements: Element[] = [];
  for (let i = 0; i + 2 < matrix.length; i += 3) {
    elements.push({ partition: matrix[i]!, region: matrix[i + 1]!, ts: matrix[i + 2]! });
  }
  return elements;
}

/** The matrix with one element alone. */
export const only = (partition: PartitionId, region: number, ts: Timestamp): Deps => [partition, region, ts];

/** Whether these are elements of existing replicas, each once and in order (D12). */
export function isMatrix(matrix: Deps, { partitions, regions }: Topology): boolean {
  if (matrix.length % 3 !== 0) return false;
  return elementsOf(matrix).every(({ partition, region }, i) => {
    const inOrder = i === 0 || before(matrix, 3 * (i - 1), matrix, 3 * i) < 0;
    return inOrder && partition < partitions.length && region < regions.length;
  });
}

/**
 * The greater element of both, everywhere. An incomplete element at an end is left out: a client cannot judge the
 * matrices that its node sends.
 */
export function mergedMatrix(a: Deps, b: Deps): Deps {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const merged: number[] = [];
  const [aEnd, bEnd] = [a.length - (a.length % 3), b.length - (b.length % 3)];
  let [i, j] = [0, 0];
  while (i < aEnd || j < bEnd) {
    const order = i >= aEnd ? 1 : j >= bEnd ? -1 : before(a, i, b, j);
    if (order <= 0) merged.push(a[i]!, a[i + 1]!, order < 0 ? a[i + 2]! : Math.max(a[i + 2]!, b[j + 2]!));
    else merged.push(b[j]!, b[j + 1]!, b[j + 2]!);
    if (order <= 0) i += 3;
    if (order >= 0) j += 3;
  }
  return merged;
}

/** The row of one partition, as a matrix. */
export function rowOf(matrix: Deps, partition: PartitionId): Deps {
  let [start, end] = [0, matrix.length];
  while (start < end && matrix[start]! < partition) start += 3;
  while (end > start && matrix[end - 3]! > partition) end -= 3;
  return matrix.slice(start, end);
}

/** The greatest element; 0 in an empty matrix. */
export function newestOf(matrix: Deps): Timestamp {
  let newest = 0;
  for (let i = 2; i < matrix.length; i += 3) newest = Math.max(newest, matrix[i]!);
  return newest;
}

/** The needs, in a region, of a version that depends on the matrix. */
export const needsOf = (matrix: Deps, { regions }: Topology): Need[] =>
  elementsOf(matrix).map(({ partition, region, ts }) => ({ partition, region: regions[region]!, ts }));

/**
 * A session: reads add elements, and a PUT replaces all of them by its own (section 3.2), because it depends on the
 * earlier ones.
 */
export const matrixSession: OperationSessionRules = { merge: mergedMatrix, wrote: (_seen, more) => more };

/** Order of the elements at two places. */
const before = (a: Deps, i: number, b: Deps, j: number): number => a[i]! - b[j]! || a[i + 1]! - b[j + 1]!;
