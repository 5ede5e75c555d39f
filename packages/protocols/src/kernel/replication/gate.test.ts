import type { LogGroup, Timestamp } from '@isochron/core';
import fc from 'fast-check';
import { PeerBacklog } from './gate.js';

const RUNS = { seed: 20_261_120, numRuns: 300 };
const group = (ct: Timestamp, bytes = 10): LogGroup => ({
  ct,
  txs: [{ txId: `t${ct}`, writes: [{ key: 'k', value: 'x'.repeat(bytes) }] }],
});

describe('what waits at the gate', () => {
  it('groups leave the gate in order, and the version clock with the last group that it covers', () => {
    const held = new PeerBacklog(1_000);
    expect(held.advance(5)).toBe(true);
    held.add(group(7), 7);
    held.add(group(9), 9);
    expect(held.advance(12)).toBe(false);
    expect(held.advance(15)).toBe(false);
    expect([held.received, held.group]).toEqual([15, 9]);
    expect(held.take()).toEqual({ group: group(7), upTo: 7 });
    expect(held.take()).toEqual({ group: group(9), upTo: 15 });
    expect(held.advance(16)).toBe(true);
  });

  it('a fragment at the gate raises no timestamp (P3)', () => {
    const held = new PeerBacklog(1_000);
    held.add(group(7), 0);
    held.advance(5);
    expect(held.group).toBe(0);
    expect(held.take().upTo).toBe(5);
    held.add(group(7), 7);
    held.advance(8);
    expect([held.group, held.take().upTo]).toEqual([7, 8]);
  });

  it('a backlog is full above its share, and can resume at half of it if a range was rejected (D11)', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 40 }), (sizes) => {
        const held = new PeerBacklog(1_000);
        let bytes = 0;
        sizes.forEach((size, i) => {
          expect(held.full).toBe(bytes > 1_000);
          held.add(group(i + 1, size), i + 1);
          bytes += 32 + size + 1 + 16;
        });
        expect(held.canResume).toBe(false);
        held.reject();
        while (held.groups.length > 0) {
          expect(held.canResume).toBe(bytes <= 500);
          bytes -= 32 + 1 + 16 + (held.take().group.txs[0]!.writes[0]!.value as string).length;
        }
        expect([held.full, held.canResume]).toEqual([false, true]);
        held.asked();
        expect(held.canResume).toBe(false);
      }),
      RUNS,
    );
  });

  it('a cleared backlog has received nothing', () => {
    const held = new PeerBacklog(1_000);
    held.add(group(7), 7);
    held.advance(9);
    held.reject();
    held.clear();
    expect([held.groups, held.received, held.group, held.full, held.canResume]).toEqual([[], 0, 0, false, false]);
    expect(held.advance(3)).toBe(true);
  });
});
