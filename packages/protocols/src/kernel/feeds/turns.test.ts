import { Turns } from './turns.js';

describe('the turns of readers', () => {
  it('gathered readers wait 2 ms for the pages of other partitions', () => {
    const turns = new Turns();
    turns.gather(100);
    expect(turns.gatheredBy).toBe(102);
  });

  it('after a full step readers rest 10 ms, from the next timer on', () => {
    const turns = new Turns();
    expect([turns.isResting(0), turns.next(0)]).toEqual([false, 0]);
    turns.full();
    expect([turns.isResting(5), turns.next(5)]).toEqual([true, 5]);
    turns.timer(7);
    turns.timer(12);
    expect([turns.isResting(12), turns.next(12)]).toEqual([true, 17]);
    expect([turns.isResting(17), turns.next(17)]).toEqual([false, 17]);
  });
});
