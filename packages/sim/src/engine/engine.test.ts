import type { Random } from '@isochron/core';
import { type Co, run, waitFor } from './coroutine.js';
import { Streams } from './streams.js';

describe('Streams', () => {
  const draw = (random: Random) => Array.from({ length: 8 }, () => random.uint32());

  it('random streams give the same draws for the same seed and purpose, and others for another', () => {
    const a = draw(new Streams(42).of('link', 'a', 'b'));
    expect(draw(new Streams(42).of('link', 'a', 'b'))).toEqual(a);
    expect(draw(new Streams(42).of('link', 'b', 'a'))).not.toEqual(a);
    expect(draw(new Streams(43).of('link', 'a', 'b'))).not.toEqual(a);
  });

  it('a random stream does not change when another one draws more', () => {
    const streams = new Streams(1);
    const other = streams.of('faults');
    const disk = streams.of('disk');
    const first = disk.uint32();
    for (let i = 0; i < 100; i++) other.uint32();
    const again = streams.of('disk');
    again.uint32();
    expect([streams.of('disk').uint32(), again.uint32()]).toEqual([first, disk.uint32()]);
  });
});

describe('coroutines', () => {
  function* adds(resumes: ((value: number) => void)[]): Co<number> {
    let sum = 0;
    for (let i = 0; i < 3; i++) sum += yield* waitFor<number>((resume) => resumes.push(resume));
    return sum;
  }

  it('a coroutine waits for values and gives a result, and ignores a second value for the same wait', () => {
    const resumes: ((value: number) => void)[] = [];
    const results: number[] = [];
    run(
      adds(resumes),
      () => true,
      (sum) => results.push(sum),
    );
    resumes[0]!(1);
    resumes[0]!(100);
    resumes[1]!(2);
    expect(results).toEqual([]);
    resumes[2]!(3);
    expect(results).toEqual([6]);
  });

  it('a coroutine goes no further once its owner is dead', () => {
    const resumes: ((value: number) => void)[] = [];
    let alive = true;
    const results: number[] = [];
    run(
      adds(resumes),
      () => alive,
      (sum) => results.push(sum),
    );
    alive = false;
    for (const resume of resumes) resume(1);
    expect([resumes.length, results]).toEqual([1, []]);
  });

  it('a coroutine may be resumed at once', () => {
    const results: number[] = [];
    function* atOnce(): Co<number> {
      return (yield* waitFor<number>((resume) => resume(20))) + (yield* waitFor<number>((resume) => resume(1)));
    }
    run(
      atOnce(),
      () => true,
      (sum) => results.push(sum),
    );
    expect(results).toEqual([21]);
  });
});
