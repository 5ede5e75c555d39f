import fc from 'fast-check';
import { HLC_EPOCH_MS, HLC_TICKS_PER_MS, Hlc, isTimestamp, MAX_TIMESTAMP, packWall, wallOf } from './hlc.js';

/** Wall clocks from the epoch of timestamps to the year 2090. */
const wall = fc.integer({ min: HLC_EPOCH_MS, max: Date.UTC(2090, 0, 1) });
const timestamp = fc.integer({ min: 0, max: packWall(Date.UTC(2090, 0, 1)) });

test('each tick lies above all ticks and observations before it, above its floor, and not below the wall clock', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('tick' as const), now: wall, floor: timestamp }),
    fc.record({ kind: fc.constant('observe' as const), ts: timestamp }),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const clock = new Hlc();
      let highest = 0;
      for (const one of steps) {
        if (one.kind === 'observe') {
          clock.observe(one.ts);
          highest = Math.max(highest, one.ts);
          continue;
        }
        const ts = clock.tick(one.now, one.floor);
        expect(ts).toBeGreaterThan(Math.max(highest, one.floor));
        expect(ts).toBeGreaterThanOrEqual(packWall(one.now));
        highest = ts;
      }
      expect(clock.last).toBe(highest);
    }),
  );
});

test('a tick is the wall clock where nothing lies above it', () => {
  const now = Date.UTC(2026, 5, 1);
  expect(new Hlc().tick(now)).toBe(packWall(now));
  expect(new Hlc(packWall(now)).tick(now)).toBe(packWall(now) + 1);
});

test('a reading takes no step', () => {
  const now = Date.UTC(2026, 5, 1);
  const clock = new Hlc(packWall(now) + 7);
  expect([clock.read(now), clock.read(now), clock.last]).toEqual(Array(3).fill(packWall(now) + 7));
  expect(clock.read(now + 1)).toBe(packWall(now + 1));
});

test('more ticks than a millisecond has carry into the next one, and stay in order', () => {
  const now = Date.UTC(2026, 5, 1);
  const clock = new Hlc();
  const ticks = Array.from({ length: HLC_TICKS_PER_MS + 2 }, () => clock.tick(now));
  expect(new Set(ticks).size).toBe(ticks.length);
  expect(Math.floor(wallOf(ticks.at(-1)!))).toBe(now + 1);
});

test('a timestamp stands for the wall clock that it was packed from', () => {
  fc.assert(
    fc.property(wall, (ms) => {
      expect(wallOf(packWall(ms))).toBe(ms);
      expect(packWall(ms + 1) - packWall(ms)).toBe(HLC_TICKS_PER_MS);
    }),
  );
  expect(packWall(HLC_EPOCH_MS - 1)).toBe(0);
});

test('ticks above the highest timestamp that a decoder accepts are exact integers', () => {
  const clock = new Hlc(MAX_TIMESTAMP);
  for (let i = 1; i < 100; i++) expect(clock.tick(HLC_EPOCH_MS)).toBe(MAX_TIMESTAMP + i);
});

test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, MAX_TIMESTAMP + 1, '1', null, 1n])(
  '%p is no timestamp',
  (raw) => {
    expect(isTimestamp(raw)).toBe(false);
  },
);
