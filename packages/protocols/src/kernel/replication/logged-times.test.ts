import { HLC_TICKS_PER_MS } from '@isochron/core';
import { LoggedTimes } from './logged-times.js';

const S = 1000 * HLC_TICKS_PER_MS;

describe('where a log may be truncated', () => {
  it('is at the last group once the stable time has reached it', () => {
    const logged = new LoggedTimes(0, 0);
    logged.add(S);
    expect(logged.upTo(S - 1)).toBe(0);
    expect(logged.upTo(S)).toBe(S);
  });

  it('is nowhere until the stable time exceeds what was published when a peer lost its disk (D10)', () => {
    const logged = new LoggedTimes(0, 0);
    logged.add(S);
    logged.add(2 * S);
    logged.keepUntil(3 * S);
    logged.keepUntil(S);
    expect([S, 2 * S, 3 * S].map((stable) => logged.upTo(stable))).toEqual([0, 0, 0]);
    expect(logged.upTo(3 * S + 1)).toBe(2 * S);
  });

  it('is nowhere after a start until the stable time exceeds what may have been published before (D10)', () => {
    const logged = new LoggedTimes(S, 2 * S);
    expect(logged.upTo(2 * S)).toBe(0);
    expect(logged.upTo(2 * S + 1)).toBe(S);
  });
});
