import { packWall } from '@isochron/core';
import type { Replicate } from '@isochron/protocols';
import { sample } from '@isochron/testing/samples';
import { VisibilitySampler } from './visibility.js';

jest.useFakeTimers();

const START = Date.UTC(2026, 0, 1);
const range = (at: number, value: string | null = '1'): Replicate => {
  const ct = packWall(at);
  const txs = [{ txId: 'a.1', writes: [{ key: 'default/a', value }] }];
  return sample('Replicate', { from: 0, to: ct, groups: [{ ct, txs }] });
};

describe('the visibility of updates of other regions', () => {
  let now = START;
  let shown: number | null;
  let reads: number;
  let failure: Error | undefined;
  let samples: [string, number][];
  let sampler: VisibilitySampler;

  beforeEach(() => {
    [now, shown, reads, failure, samples] = [START, null, 0, undefined, []];
    sampler = new VisibilitySampler({
      now: () => now,
      read: async () => {
        reads++;
        if (failure !== undefined) throw failure;
        return shown === null ? null : { ts: packWall(shown) };
      },
      visible: (source, ms) => samples.push([source, ms]),
    });
  });
  const pass = async (ms: number) => {
    for (const end = now + ms; now < end; ) {
      now += 10;
      await jest.advanceTimersByTimeAsync(10);
    }
  };

  it('the visibility of an update is the time from its timestamp until a read shows it or a newer one', async () => {
    sampler.received(range(START - 40));
    await pass(50);
    shown = START - 50;
    await pass(50);
    expect(samples).toEqual([]);
    shown = START - 40;
    await pass(10);
    expect(samples).toEqual([['oregon', 150]]);
  });

  it('visibility is sampled once a second, one update at a time, and so costs next to nothing', async () => {
    shown = START + 3_600_000;
    for (let i = 0; i < 300; i++) {
      sampler.received(range(now));
      await pass(10);
    }
    expect(samples).toHaveLength(3);
    expect(reads).toBe(3);
  });

  it('visibility is not sampled by updates that leave no value to read', async () => {
    sampler.received(range(now, null));
    sampler.received({ ...range(now), groups: [] });
    await pass(20);
    expect(reads).toBe(0);
  });

  it('an update that is never seen, or cannot be read, is no sample; the next one is followed again', async () => {
    sampler.received(range(now));
    await pass(11_000);
    const given = reads;
    await pass(1_000);
    expect([samples, reads]).toEqual([[], given]);
    failure = new Error('refused');
    sampler.received(range(now));
    await pass(1_000);
    expect([samples, reads]).toEqual([[], given + 1]);
    failure = undefined;
    shown = now + 1;
    sampler.received(range(now));
    await pass(10);
    expect(samples).toHaveLength(1);
  });

  it('visibility is not sampled any more when the node closes', async () => {
    sampler.received(range(now));
    await pass(30);
    const before = reads;
    sampler.close();
    shown = now;
    await pass(30);
    sampler.received(range(now + 5_000));
    await pass(30);
    expect([samples, reads]).toEqual([[], before]);
  });
});
