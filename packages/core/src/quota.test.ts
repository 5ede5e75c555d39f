import { Quota } from './quota.js';

describe('a quota', () => {
  it('a quota refuses what is above the limit of all holders together', () => {
    const quota = new Quota(3, 3);
    expect(['a', 'b', 'c', 'd'].map((holder) => quota.take(holder))).toEqual([true, true, true, false]);
    quota.give('b');
    expect(quota.take('d')).toBe(true);
    expect(quota.taken).toBe(3);
  });

  it('a quota leaves places to others when one holder has its share', () => {
    const quota = new Quota(10, 2);
    expect([1, 2, 3].map(() => quota.take('a'))).toEqual([true, true, false]);
    expect(quota.take('b')).toBe(true);
    quota.give('a');
    expect(quota.take('a')).toBe(true);
  });

  it('a quota grants all places that are asked for, or none', () => {
    const quota = new Quota(10, 10);
    expect(quota.take('a', 8)).toBe(true);
    expect(quota.take('b', 3)).toBe(false);
    expect(quota.take('b', 2)).toBe(true);
    quota.give('a', 8);
    expect([quota.taken, quota.take('b', 8)]).toEqual([2, true]);
  });
});
