import { Random } from './random.js';
import { RateLimit } from './rate-limit.js';

describe('a rate limit', () => {
  it('a rate limit grants a period of units at once, and then one after each share of the period', () => {
    const limit = new RateLimit(10, 1000);
    expect(Array.from({ length: 11 }, () => limit.take('a', 1, 0))).toEqual([...Array(10).fill(0), 100]);
    expect([limit.take('a', 1, 99), limit.take('a', 1, 100), limit.take('a', 1, 100)]).toEqual([101, 0, 200]);
  });

  it('a rate limit leaves the units of one holder alone when another one takes all of its own', () => {
    const limit = new RateLimit(3, 1000);
    expect(limit.take('greedy', 3, 0)).toBe(0);
    expect(limit.take('greedy', 1, 0)).toBeGreaterThan(0);
    expect([limit.left('greedy', 0), limit.left('quiet', 0), limit.take('quiet', 1, 0)]).toEqual([0, 3, 0]);
  });

  it('requests that wait for the times that their refusals name are all granted then', () => {
    const limit = new RateLimit(10, 1000);
    limit.take('a', 10, 0);
    const waits = Array.from({ length: 15 }, () => limit.take('a', 1, 0));
    expect(waits).toEqual(waits.map((_, i) => (i + 1) * 100));
    expect(waits.map((waitMs) => limit.take('a', 1, waitMs))).toEqual(waits.map(() => 0));
  });

  it('a request for more than a period holds is granted from a full bucket, and delays the next one', () => {
    const limit = new RateLimit(10, 1000);
    expect(limit.take('a', 30, 0)).toBe(0);
    expect(limit.take('a', 30, 0)).toBe(2000);
    expect([limit.take('a', 1, 1000), limit.take('a', 1, 2100)]).toEqual([expect.any(Number), 0]);
  });

  it('a refusal never names a wait of more than two seconds, however many requests were refused before it', () => {
    const limit = new RateLimit(1, 1000);
    const waits = Array.from({ length: 1000 }, () => limit.take('a', 1, 0));
    expect(Math.max(...waits)).toBe(2000);
  });

  it('what was used beyond the limit is waited for', () => {
    const limit = new RateLimit(1000, 1000);
    limit.charge('a', 1500, 0);
    expect([limit.waitMs('a', 0), limit.waitMs('a', 400), limit.waitMs('a', 500), limit.waitMs('b', 0)]).toEqual([
      500, 100, 0, 0,
    ]);
  });

  it('holders that have stopped make room, and those that have not are bounded', () => {
    const limit = new RateLimit(10, 1000, 100);
    for (let i = 0; i < 1000; i++) limit.take(`busy-${i}`, 1, 0);
    expect(limit.holders).toBe(100);
    for (let i = 0; i < 200; i++) limit.take(`later-${i}`, 1, 5000 + i * 1000);
    expect(limit.holders).toBeLessThanOrEqual(52);
  });

  it('whatever is asked for and when, a rate limit grants exactly what a bucket that fills evenly has', () => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
    const random = new Random(seed);
    for (let run = 0; run < 50; run++) {
      const [units, periodMs] = [1 + random.below(50), 100 + random.below(2000)];
      const limit = new RateLimit(units, periodMs);
      let [now, tokens] = [0, units];
      for (let i = 0; i < 500; i++) {
        const passedMs = random.chance(0.3) ? 0 : random.float() * 40;
        now += passedMs;
        tokens = Math.min(units, tokens + (passedMs / periodMs) * units);
        const wanted = Math.min(units, 1 + random.below(3));
        if (Math.abs(tokens - wanted) < 1e-6) continue;
        const isGranted = limit.take('a', wanted, now) === 0;
        if (isGranted !== tokens > wanted) throw new Error(`SEED=${seed}, run ${run}: ${wanted} of ${tokens}`);
        if (isGranted) tokens -= wanted;
      }
    }
  });
});
