import { Random } from '@isochron/core';
import { type Co, run, waitFor } from './coroutine.js';
import { exponential, logBetween, weighted } from './draws.js';
import { EventQueue, type Scheduled } from './event-queue.js';
import { Streams } from './streams.js';
import { VirtualTime } from './virtual-time.js';

describe('EventQueue', () => {
  it('the event queue gives events in the order of their times, and of their scheduling among equals', () => {
    const random = new Random(7);
    const queue = new EventQueue();
    const all = Array.from({ length: 500 }, () => queue.push(random.below(50), () => {}));
    const wanted = [...all].sort((a, b) => a.at - b.at || a.order - b.order);
    expect(Array.from({ length: 500 }, () => queue.pop())).toEqual(wanted);
    expect(queue.pop()).toBeUndefined();
  });

  it('the event queue gives the same events as a sorted list, while events come, go and are limited to a time', () => {
    const random = new Random(8);
    const queue = new EventQueue();
    const list: Scheduled[] = [];
    let last = 0;
    for (let i = 0; i < 5_000; i++) {
      list.push(queue.push(last + (random.chance(0.5) ? 0 : random.below(20)), () => {}));
      if (random.chance(0.4)) continue;
      list.sort((a, b) => a.at - b.at || a.order - b.order);
      const by = last - 2 + random.below(10);
      const wanted = list[0] !== undefined && list[0].at <= by ? list.shift() : undefined;
      expect(queue.pop(by)).toBe(wanted);
      last = wanted?.at ?? last;
    }
  });

  it('events for the time of the last one come after all others of that time, and not before an earlier limit', () => {
    const queue = new EventQueue();
    const first = queue.push(5, () => {});
    const second = queue.push(5, () => {});
    const later = queue.push(6, () => {});
    expect(queue.pop(4)).toBeUndefined();
    expect(queue.pop()).toBe(first);
    const [third, fourth] = [queue.push(5, () => {}), queue.push(5, () => {})];
    expect(queue.pop(4)).toBeUndefined();
    expect([queue.pop(5), queue.pop(5), queue.pop(5), queue.pop(5)]).toEqual([second, third, fourth, undefined]);
    expect([queue.pop(), queue.pop()]).toEqual([later, undefined]);
  });
});

describe('VirtualTime', () => {
  it('virtual time moves from event to event, lets events schedule others, and never moves back', () => {
    const time = new VirtualTime();
    const seen: [string, number][] = [];
    const note = (name: string) => seen.push([name, time.now]);
    time.at(5, () => {
      note('five');
      time.at(1, () => note('late'));
      time.after(0, () => note('next'));
    });
    time.at(5, () => note('also five'));
    time.cancel(time.at(6, () => note('called off')));
    time.runUntil(10, () => false);
    expect(seen).toEqual([
      ['five', 5],
      ['also five', 5],
      ['late', 5],
      ['next', 5],
    ]);
    expect([time.now, time.steps]).toEqual([10, 4]);
  });

  it('virtual time ends at the given limit', () => {
    const time = new VirtualTime();
    for (let i = 1; i <= 10; i++) time.at(i, () => {});
    time.runUntil(10, () => time.now === 3);
    expect(time.now).toBe(3);
  });
});

describe('Streams', () => {
  const draw = (random: Random) => Array.from({ length: 8 }, () => random.uint32());

  it('random streams give the same draws for the same seed and purpose, and others for another', () => {
    const a = draw(new Streams(42).of('link', 'a', 'b'));
    expect(draw(new Streams(42).of('link', 'a', 'b'))).toEqual(a);
    expect(draw(new Streams(42).of('link', 'b', 'a'))).not.toEqual(a);
    expect(draw(new Streams(43).of('link', 'a', 'b'))).not.toEqual(a);
  });

  it('a random stream does not change when another one draws more', () => {
    const streams = new Streams(1);
    const other = streams.of('faults');
    const disk = streams.of('disk');
    const first = disk.uint32();
    for (let i = 0; i < 100; i++) other.uint32();
    const again = streams.of('disk');
    again.uint32();
    expect([streams.of('disk').uint32(), again.uint32()]).toEqual([first, disk.uint32()]);
  });
});

describe('draws', () => {
  const random = new Random(3);
  const many = (draw: () => number) => Array.from({ length: 20_000 }, draw);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

  it('exponential draws have the given mean', () => {
    const values = many(() => exponential(random, 7));
    expect(Math.abs(mean(values) - 7)).toBeLessThan(0.3);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
  });

  it('logarithmic draws give every order of magnitude equally often', () => {
    const values = many(() => logBetween(random, 1, 1000));
    const share = values.filter((value) => value < 10).length / values.length;
    expect(Math.abs(share - 1 / 3)).toBeLessThan(0.02);
    expect([Math.min(...values) >= 1, Math.max(...values) <= 1000]).toEqual([true, true]);
  });

  it('weighted draws follow their weights, and never give an entry of weight 0', () => {
    const values = Array.from({ length: 10_000 }, () =>
      weighted(random, [
        ['a', 3],
        ['never', 0],
        ['b', 1],
      ]),
    );
    expect(values).not.toContain('never');
    expect(Math.abs(values.filter((value) => value === 'a').length / values.length - 0.75)).toBeLessThan(0.03);
  });
});

describe('coroutines', () => {
  function* adds(resumes: ((value: number) => void)[]): Co<number> {
    let sum = 0;
    for (let i = 0; i < 3; i++) sum += yield* waitFor<number>((resume) => resumes.push(resume));
    return sum;
  }

  it('a coroutine waits for values and gives a result, and ignores a second value for the same wait', () => {
    const resumes: ((value: number) => void)[] = [];
    const results: number[] = [];
    run(
      adds(resumes),
      () => true,
      (sum) => results.push(sum),
    );
    resumes[0]!(1);
    resumes[0]!(100);
    resumes[1]!(2);
    expect(results).toEqual([]);
    resumes[2]!(3);
    expect(results).toEqual([6]);
  });

  it('a coroutine goes no further once its owner is dead', () => {
    const resumes: ((value: number) => void)[] = [];
    let alive = true;
    const results: number[] = [];
    run(
      adds(resumes),
      () => alive,
      (sum) => results.push(sum),
    );
    alive = false;
    for (const resume of resumes) resume(1);
    expect([resumes.length, results]).toEqual([1, []]);
  });

  it('a coroutine may be resumed at once', () => {
    const results: number[] = [];
    function* atOnce(): Co<number> {
      return (yield* waitFor<number>((resume) => resume(20))) + (yield* waitFor<number>((resume) => resume(1)));
    }
    run(
      atOnce(),
      () => true,
      (sum) => results.push(sum),
    );
    expect(results).toEqual([21]);
  });
});
