import { VirtualTime } from './virtual-time.js';
import { WakeTimer } from './wake-timer.js';
import { WallClock } from './wall-clock.js';

function world() {
  const time = new VirtualTime();
  const clock = new WallClock(time, { skewMs: 0, driftPpm: 0 });
  const wakes: number[] = [];
  const timer = new WakeTimer(time, clock, () => wakes.push(time.now));
  return { clock, timer, wakes, run: (ms: number) => time.runUntil(time.now + ms, () => false) };
}

describe('a wake timer', () => {
  it('a wake timer is moved only to an earlier time, and calls once', () => {
    const { clock, timer, wakes, run } = world();
    for (const ms of [20, 10, 30]) timer.wakeAt(clock.now() + ms);
    run(100);
    expect(wakes).toEqual([10]);
  });

  it('a wake timer keeps its steady time when the clock is set back', () => {
    const { clock, timer, wakes, run } = world();
    timer.wakeAt(clock.now() + 10);
    clock.jump(-1_000);
    run(100);
    expect(wakes).toEqual([10]);
  });

  it('a wake timer calls after 1 ms for a time that has passed, and not at all when it is stopped', () => {
    const { clock, timer, wakes, run } = world();
    timer.wakeAt(clock.now() - 5);
    run(100);
    timer.wakeAt(clock.now() + 10);
    timer.stop();
    run(100);
    expect(wakes).toEqual([1]);
  });
});
