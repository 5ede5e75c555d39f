import type { Timestamp } from '@isochron/core';
import { stableMinimum } from './node-parts.js';
import type { Replication } from './replication/replication.js';

/** Replicas that contribute these to UST. */
const replicas = (...minima: Timestamp[]) =>
  minima.map((stableMin) => ({ replication: { stableMin } as Partial<Replication> as Replication }));

const SETTLED = { settled: true, unsettledAfter: 0 };
const unsettled = (unsettledAfter: Timestamp) => ({ settled: false, unsettledAfter });

describe('what a node contributes to UST', () => {
  it('a node without replicas contributes nothing to UST, whether or not a lost disk is settled', () => {
    expect(stableMinimum([], SETTLED)).toBeNull();
    expect(stableMinimum([], unsettled(5))).toBeNull();
  });

  it('a node contributes to UST the lowest contribution of its replicas', () => {
    expect(stableMinimum(replicas(30, 10, 20), SETTLED)).toBe(10);
    expect(stableMinimum(replicas(7), SETTLED)).toBe(7);
  });

  it('a node contributes zero to UST while the disk of one replica is empty', () => {
    expect(stableMinimum(replicas(0, 10), SETTLED)).toBe(0);
    expect(stableMinimum(replicas(0, 10), unsettled(5))).toBe(0);
  });

  it('a node contributes to UST at most the stable time at the loss while a lost disk is not settled (D10)', () => {
    expect(stableMinimum(replicas(30, 10), unsettled(5))).toBe(5);
    expect(stableMinimum(replicas(30, 10), unsettled(10))).toBe(10);
  });

  it("a replica's lower contribution to UST is not raised to the stable time at the loss (D10)", () => {
    expect(stableMinimum(replicas(30, 10), unsettled(20))).toBe(10);
  });

  it("a node's contribution to UST follows its replicas again once the lost disk is settled (D10)", () => {
    const membership = { settled: false, unsettledAfter: 5 };
    expect(stableMinimum(replicas(10), membership)).toBe(5);
    expect(stableMinimum(replicas(10), { ...membership, settled: true, unsettledAfter: 0 })).toBe(10);
  });
});
