import { ManualTime } from '@isochron/testing/transport/manual-time';
import { DelayLine, realTime } from './delay-line.js';

describe('DelayLine', () => {
  const setUp = () => {
    const time = new ManualTime();
    const delivered: [string, number][] = [];
    const line = new DelayLine<string>(time, (item) => delivered.push([item, time.now()]));
    return { time, delivered, line };
  };

  it('DelayLine delivers each item after its own delay, and none early', () => {
    const { time, delivered, line } = setUp();
    line.push('first', 10);
    time.advance(6);
    line.push('second', 10);
    time.advance(100);
    expect(delivered).toEqual([
      ['first', 10],
      ['second', 16],
    ]);
  });

  it('DelayLine keeps the order when a later item has a shorter delay', () => {
    const { time, delivered, line } = setUp();
    line.push('first', 10);
    line.push('second', 1);
    time.advance(100);
    expect(delivered).toEqual([
      ['first', 10],
      ['second', 10],
    ]);
  });

  it('DelayLine goes on after it was cleared, without the items that waited', () => {
    const { time, delivered, line } = setUp();
    line.push('lost', 10);
    line.clear();
    line.push('kept', 20);
    time.advance(100);
    expect(delivered).toEqual([['kept', 20]]);
    expect(line.length).toBe(0);
  });

  it('DelayLine delivers nothing more when a delivery clears it', () => {
    const time = new ManualTime();
    const delivered: string[] = [];
    const line = new DelayLine<string>(time, (item) => {
      delivered.push(item);
      line.clear();
    });
    for (const item of ['first', 'second']) line.push(item, 5);
    time.advance(100);
    expect(delivered).toEqual(['first']);
  });

  it('DelayLine waits at least as long as asked in real time', async () => {
    const start = realTime.now();
    await new Promise<void>((resolve) => new DelayLine<null>(realTime, () => resolve()).push(null, 3.4));
    expect(realTime.now() - start).toBeGreaterThanOrEqual(3.4);
  });
});
