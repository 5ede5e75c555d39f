import { VirtualTime } from './virtual-time.js';
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

  it('a wall clock is off by its skew and drifts away', () => {
    expect(at(1_000, { skewMs: 30, driftPpm: 0 })).toBe(30);
    expect(at(10_000, { skewMs: 30, driftPpm: 10_000 })).toBe(130);
  });

  it('a wall clock jumps, forwards and backwards', () => {
    expect(at(1_000, { skewMs: 0, driftPpm: 0 }, (clock) => clock.jump(500))).toBe(500);
    expect(at(1_000, { skewMs: 0, driftPpm: 0 }, (clock) => clock.jump(-500))).toBe(-500);
  });

  it('a wall clock keeps its error when its drift changes', () => {
    expect(at(10_000, { skewMs: 0, driftPpm: 10_000 }, (clock) => clock.drift(0))).toBe(50);
  });

  it('a wall clock moves forward by itself and by jumps, and not back when it is set back', () => {
    const time = new VirtualTime();
    const clock = new WallClock(time, { skewMs: 50, driftPpm: 0 });
    const begin = clock.forwardMs;
    const moves = [() => clock.jump(500), () => clock.jump(-200), () => clock.correct(), () => clock.drift(10_000)];
    const forward = moves.map((move, i) => {
      time.runUntil(1_000 * (i + 1), () => false);
      move();
      return clock.forwardMs - begin;
    });
    expect(forward).toEqual([1_500, 2_500, 3_500, 4_500]);
    time.runUntil(5_000, () => false);
    expect(clock.forwardMs - begin).toBe(5_510);
  });

  it('a wall clock is right again once it is corrected', () => {
    for (const sign of [1, -1])
      expect(at(10_000, { skewMs: 70 * sign, driftPpm: 1_000 * sign }, (clock) => clock.correct())).toBe(0);
  });
});
