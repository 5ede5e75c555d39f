import { VirtualTime } from './virtual-time.js';
import { WakeTimer } from './wake-timer.js';

function world() {
  const time = new VirtualTime();
  const wakes: number[] = [];
  const timer = new WakeTimer(time, () => wakes.push(time.now));
  return { timer, wakes, run: (ms: number) => time.runUntil(time.now + ms, () => false) };
}

describe('a wake timer', () => {
  it('a wake timer is moved only to an earlier time, and calls once', () => {
    const { timer, wakes, run } = world();
    for (const ms of [20, 10, 30]) timer.wakeAfter(ms);
    run(100);
    expect(wakes).toEqual([10]);
  });

  it('a wake timer does not call when it is stopped', () => {
    const { timer, wakes, run } = world();
    timer.wakeAfter(10);
    timer.stop();
    run(100);
    expect(wakes).toEqual([]);
  });
});
