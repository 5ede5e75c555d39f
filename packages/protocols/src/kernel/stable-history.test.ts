import { StableHistory } from './stable-history.js';

describe('the stable times of a retention', () => {
  it('the stable time of a retention ago is given, within a thirtieth of it', () => {
    const history = new StableHistory();
    for (let now = 0; now <= 10_000; now += 10) {
      const ust = history.before(now, 1_000, now);
      if (now >= 1_100) expect(now - ust).toBeGreaterThanOrEqual(1_000);
      expect(now - ust).toBeLessThanOrEqual(1_050);
    }
  });

  it('a stable time that stood still and then jumped is given a retention after its jump', () => {
    const history = new StableHistory();
    const ustAt = (now: number) => (now < 5_000 ? 100 : now);
    for (let now = 0; now < 5_990; now += 10) expect(history.before(now, 1_000, ustAt(now))).toBe(100);
    expect(history.before(6_100, 1_000, 6_100)).toBeGreaterThan(4_900);
  });

  it('without a retention it is the present one, and a clock that was set back begins anew', () => {
    const history = new StableHistory();
    for (const now of [10, 20, 20, 30]) expect(history.before(now, 0, now * 7)).toBe(now * 7);
    expect(history.before(5, 1_000, 300)).toBe(300);
    expect(history.before(6, 1_000, 400)).toBe(300);
  });
});
