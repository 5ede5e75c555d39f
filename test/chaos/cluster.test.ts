import { refusesItsClock } from './cluster.js';

const stderrOf = (code: string) => ({ stderr: `error: ${code}: the reason\n` });
const clock = (offsetMs: number) => ({ offsetMs, rate: 0, sinceMs: 0 });

describe('a node that does not start', () => {
  it.each([
    ['CLOCK_BEHIND_DATA', -120_000, true],
    ['CLOCK_BEHIND_DATA', 120_000, false],
    ['CERTIFICATE_INVALID', -7_200_000, true],
    ['CERTIFICATE_INVALID', 1_000_000_000_000, true],
    ['CERTIFICATE_INVALID', 0, false],
    ['CONFIG_INVALID', -120_000, false],
  ])('the error %s is explained by a clock that is off by %d ms: %s', (code, offsetMs, explained) => {
    expect(refusesItsClock(stderrOf(code), [clock(offsetMs)])).toBe(explained);
  });

  it('an error of a node whose clock was set back while it started is explained by that, also once the clock is right', () => {
    expect(refusesItsClock(stderrOf('CLOCK_BEHIND_DATA'), [0, -54_364, 0].map(clock))).toBe(true);
  });
});
