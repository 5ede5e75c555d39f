import type { Timestamp } from '@isochron/core';
import { stableMinimum } from './node-parts.js';
import type { Replication } from './replication/replication.js';

/** Replicas that contribute these to UST. */
const replicas = (...minima: Timestamp[]) =>
  minima.map((stableMin) => ({ replication: { stableMin } as Partial<Replication> as Replication }));

const SETTLED = { settled: true, unsettledAfter: 0 };
const unsettled = (unsettledAfter: Timestamp) => ({ settled: false, unsettledAfter });

describe('what a node contributes to UST', () => {
  it('is nothing where the node has no replica, whether or not a lost disk is settled', () => {
    expect(stableMinimum([], SETTLED)).toBeNull();
    expect(stableMinimum([], unsettled(5))).toBeNull();
  });

  it('is the lowest of what its replicas contribute', () => {
    expect(stableMinimum(replicas(30, 10, 20), SETTLED)).toBe(10);
    expect(stableMinimum(replicas(7), SETTLED)).toBe(7);
  });

  it('is zero while one replica has nothing on its disk', () => {
    expect(stableMinimum(replicas(0, 10), SETTLED)).toBe(0);
    expect(stableMinimum(replicas(0, 10), unsettled(5))).toBe(0);
  });

  it('is at most the stable time at the loss while a lost disk is not settled (D10)', () => {
    expect(stableMinimum(replicas(30, 10), unsettled(5))).toBe(5);
    expect(stableMinimum(replicas(30, 10), unsettled(10))).toBe(10);
  });

  it('is not raised to the stable time at the loss where a replica has less (D10)', () => {
    expect(stableMinimum(replicas(30, 10), unsettled(20))).toBe(10);
  });

  it('follows the replicas again once the lost disk is settled (D10)', () => {
    const membership = { settled: false, unsettledAfter: 5 };
    expect(stableMinimum(replicas(10), membership)).toBe(5);
    expect(stableMinimum(replicas(10), { ...membership, settled: true, unsettledAfter: 0 })).toBe(10);
  });
});
