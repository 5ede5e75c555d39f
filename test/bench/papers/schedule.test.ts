import { EXPERIMENTS } from './experiments.js';
import { stepNames } from './run.js';
import { SCALE } from './scale/experiment.js';
import { Schedule, stepsOf, timeText, totalMs } from './schedule.js';
import { EXPERIMENT } from './testing.js';

const SIZE = { rounds: 3, durationMs: 1_200, keysPerPartition: 2_000 };

describe('how long a run takes', () => {
  it('the duration of a run is planned step by step, in the order of the steps', () => {
    const steps = stepsOf([EXPERIMENT, { ...EXPERIMENT, name: 'other' }], SIZE);
    expect(steps.map(({ what }) => what)).toEqual([...stepNames(EXPERIMENT), ...stepNames(EXPERIMENT)]);
    for (const { ms } of steps) expect(ms).toBeGreaterThan(0);
  });

  it('the duration of a run grows with rounds and their length, systems and keys', () => {
    const planned = (more: object, experiment = EXPERIMENT) => totalMs(stepsOf([experiment], { ...SIZE, ...more }));
    for (const more of [{ rounds: 4 }, { durationMs: 2_000 }, { keysPerPartition: 20_000 }]) {
      expect(planned(more)).toBeGreaterThan(planned({}));
    }
    const fewer = { ...EXPERIMENT, systems: EXPERIMENT.systems.slice(0, 1) };
    expect(planned({}, fewer)).toBeCloseTo(planned({}) / 2);
  });

  it('the duration of a run of default size is less than an hour', () => {
    const simulatedMs = SCALE.aboutMs;
    expect((totalMs(stepsOf(EXPERIMENTS, SIZE)) + simulatedMs) / 60_000).toBeLessThan(60);
  });

  it('the duration of a run is printed as a rounded text', () => {
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

  it('the remaining time of a run is the planned one, corrected by the time so far, the more the longer it has run', () => {
    now = 0;
    const own = schedule();
    expect(own.begins('one', 'step 1')).toBe(40);
    now = 20;
    // A quarter is done, in twice the time.
    expect(own.begins('one', 'step 2')).toBe(30 * 1.25);
    now = 60;
    expect(own.begins('two', 'step 4')).toBe(10 * (1 + 0.75 * 1));
  });

  it('the remaining time of a run excludes the steps that a failed experiment leaves out', () => {
    now = 0;
    const own = schedule();
    own.begins('one', 'step 1');
    expect(own.begins('two', 'step 3')).toBeLessThanOrEqual(20);
  });
});
