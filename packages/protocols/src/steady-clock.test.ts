import fc from 'fast-check';
import { SteadyClock } from './steady-clock.js';

describe('the clock of a host', () => {
  it("the clock of a host shows the machine's time while that goes forwards", () => {
    let wall = 1_000;
    const clock = new SteadyClock(() => wall);
    for (const step of [0, 1, 7, 60_000]) {
      wall += step;
      expect(clock.now()).toBe(wall);
    }
  });

  it("the clock of a host does not step back with the machine's clock, and runs at half speed until that has caught up", () => {
    let wall = 100_000;
    const clock = new SteadyClock(() => wall);
    clock.now();
    wall -= 60_000;
    expect(clock.now()).toBe(100_000);
    for (let i = 0; i < 1_000; i++) {
      wall += 10;
      clock.now();
    }
    expect(clock.now()).toBe(105_000);
    wall += 200_000;
    expect(clock.now()).toBe(wall);
  });

  it('the clock of a host stays ahead at full speed where catching up would take very long', () => {
    let wall = 10_000_000;
    const clock = new SteadyClock(() => wall);
    clock.now();
    wall -= 700_000;
    expect(clock.now()).toBe(10_000_000);
    for (let i = 0; i < 60; i++) {
      wall += 1_000;
      clock.now();
    }
    expect(clock.now()).toBe(10_060_000);
  });

  it.each([700_000, 300_000])(
    'the clock of a host is not ahead after the machine clock was set back by %s ms and forward again',
    (ms) => {
      let wall = 10_000_000;
      const clock = new SteadyClock(() => wall);
      clock.now();
      for (const step of [-ms, 1_000, ms]) {
        wall += step;
        clock.now();
      }
      expect(clock.now()).toBeLessThanOrEqual(wall);
    },
  );

  it('the clock of a host never goes back, whatever the machine clock does', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.integer({ min: -5_000, max: 5_000 }), fc.integer({ min: -900_000, max: 900_000 }))),
        (steps) => {
          let wall = 1_000_000;
          const clock = new SteadyClock(() => wall);
          let last = clock.now();
          for (const step of steps) {
            wall += step;
            const now = clock.now();
            expect(now).toBeGreaterThanOrEqual(last);
            last = now;
          }
        },
      ),
    );
  });
});
