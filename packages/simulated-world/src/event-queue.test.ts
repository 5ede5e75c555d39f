import { Random } from '@isochron/core';
import { EventQueue, type Scheduled } from './event-queue.js';

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
