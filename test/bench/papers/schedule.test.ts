import { EXPERIMENTS } from './experiments.js';
import { stepNames } from './run.js';
import { SCALE } from './scale/experiment.js';
import { Schedule, stepsOf, timeText, totalMs } from './schedule.js';
import { EXPERIMENT } from './testing.js';

const SIZE = { rounds: 3, durationMs: 1_200, keysPerPartition: 2_000 };

describe('how long a run takes', () => {
  it('is planned step by step, in the order in which they run', () => {
    const steps = stepsOf([EXPERIMENT, { ...EXPERIMENT, name: 'other' }], SIZE);
    expect(steps.map(({ what }) => what)).toEqual([...stepNames(EXPERIMENT), ...stepNames(EXPERIMENT)]);
    for (const { ms } of steps) expect(ms).toBeGreaterThan(0);
  });

  it('grows with rounds and their length, systems and keys', () => {
    const planned = (more: object, experiment = EXPERIMENT) => totalMs(stepsOf([experiment], { ...SIZE, ...more }));
    for (const more of [{ rounds: 4 }, { durationMs: 2_000 }, { keysPerPartition: 20_000 }]) {
      expect(planned(more)).toBeGreaterThan(planned({}));
    }
    const fewer = { ...EXPERIMENT, systems: EXPERIMENT.systems.slice(0, 1) };
    expect(planned({}, fewer)).toBeCloseTo(planned({}) / 2);
  });

  it('is less than an hour for all of it in the size that a run has by itself', () => {
    const simulatedMs = SCALE.aboutMs;
    expect((totalMs(stepsOf(EXPERIMENTS, SIZE)) + simulatedMs) / 60_000).toBeLessThan(60);
  });

  it('is said in words', () => {
    expect([3, 44_000, 91_000, 1_790_000].map(timeText)).toEqual([
      'about 10 s',
      'about 40 s',
      'about 2 min',
      'about 30 min',
    ]);
  });
});

describe('what is left of a run', () => {
  const steps = [1, 2, 3, 4].map((n) => ({ experiment: n < 3 ? 'one' : 'two', what: `step ${n}`, ms: 10 }));
  let now = 0;
  const schedule = () => new Schedule(steps, () => now, 0);

  it('is what is planned, corrected by what was needed, the more the more is known', () => {
    now = 0;
    const own = schedule();
    expect(own.begins('one', 'step 1')).toBe(40);
    now = 20;
    // A quarter is done, in twice the time.
    expect(own.begins('one', 'step 2')).toBe(30 * 1.25);
    now = 60;
    expect(own.begins('two', 'step 4')).toBe(10 * (1 + 0.75 * 1));
  });

  it('does not have what a failed experiment has left out', () => {
    now = 0;
    const own = schedule();
    own.begins('one', 'step 1');
    expect(own.begins('two', 'step 3')).toBeLessThanOrEqual(20);
  });
});
