import { VirtualTime } from './virtual-time.js';

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
