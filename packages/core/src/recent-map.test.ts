import { RecentMap } from './recent-map.js';

describe('a map of what was used last', () => {
  const filled = (from: number, to: number, map = new RecentMap<number, string>(10)) => {
    for (let key = from; key < to; key++) map.set(key, `v${key}`);
    return map;
  };
  /** The newest ones first, as a `get` counts as a use. */
  const found = (map: RecentMap<number, string>, upTo: number): number[] =>
    Array.from({ length: upTo }, (_, key) => upTo - 1 - key).filter((key) => map.get(key) === `v${key}`);

  it.each([1, 9, 10, 11, 25, 199])(
    'a RecentMap keeps the last ten of %i entries, and no more than twice as many',
    (entries) => {
      const kept = found(filled(0, entries), entries);
      const last = Array.from({ length: Math.min(10, entries) }, (_, key) => entries - 1 - key);
      expect(kept.slice(0, 10)).toEqual(last);
      expect(kept.length).toBeLessThanOrEqual(20);
    },
  );

  it('a RecentMap keeps what is used again and again', () => {
    const map = filled(0, 1);
    for (let key = 1; key < 100; key++) {
      filled(key, key + 1, map);
      expect(map.get(0)).toBe('v0');
    }
  });

  it('a RecentMap holds the newest value of a key', () => {
    const map = filled(0, 12);
    map.set(3, 'again');
    filled(12, 20, map);
    expect(map.get(3)).toBe('again');
  });
});
