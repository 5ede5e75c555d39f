import { VirtualTime } from '../engine/virtual-time.js';
import { WallClock } from './wall-clock.js';

describe('a wall clock', () => {
  const at = (
    ms: number,
    clock: { skewMs: number; driftPpm: number },
    change: (clock: WallClock) => void = () => {},
  ) => {
    const time = new VirtualTime();
    const wall = new WallClock(time, clock);
    const right = new WallClock(time, { skewMs: 0, driftPpm: 0 });
    time.runUntil(ms / 2, () => false);
    change(wall);
    time.runUntil(ms, () => false);
    return wall.now() - right.now();
  };

  it('is off by its skew and drifts away', () => {
    expect(at(1_000, { skewMs: 30, driftPpm: 0 })).toBe(30);
    expect(at(10_000, { skewMs: 30, driftPpm: 10_000 })).toBe(130);
  });

  it('jumps, forwards and backwards', () => {
    expect(at(1_000, { skewMs: 0, driftPpm: 0 }, (clock) => clock.jump(500))).toBe(500);
    expect(at(1_000, { skewMs: 0, driftPpm: 0 }, (clock) => clock.jump(-500))).toBe(-500);
  });

  it('keeps what it has gathered when its drift changes', () => {
    expect(at(10_000, { skewMs: 0, driftPpm: 10_000 }, (clock) => clock.drift(0))).toBe(50);
  });

  it('is right again once it is corrected', () => {
    for (const sign of [1, -1])
      expect(at(10_000, { skewMs: 70 * sign, driftPpm: 1_000 * sign }, (clock) => clock.correct())).toBe(0);
  });
});
