import { Reader, type Update } from './reader.js';
import type { VisibilitySample } from './samples.js';

/** A reader with a stopped clock, and a cluster whose answers the test gives. */
function world() {
  const clock = { ms: 0 };
  const asked: { keys: readonly string[]; answer: (values: readonly unknown[]) => void }[] = [];
  const getMany = <U>(keys: readonly string[]) =>
    new Promise<(U | undefined)[]>((resolve) => {
      asked.push({ keys, answer: (values) => resolve(values as (U | undefined)[]) });
    });
  const samples: VisibilitySample[] = [];
  const reader = new Reader('oregon', [{ getMany }, { getMany }], samples, () => clock.ms);
  const update = (committedAt?: number): Update => ({ source: 'virginia', committedAt });
  return { clock, asked, samples, reader, update };
}

describe('a reader', () => {
  it('a reader samples an update once, with the time since its commit, and continues with the updates that it has not seen', async () => {
    const { clock, asked, samples, reader, update } = world();
    reader.expect('a', update(10));
    reader.expect('b', update(10));
    const looks = [reader.look(), reader.look()];
    clock.ms = 50;
    asked[0]!.answer([1, undefined]);
    await looks[0];
    clock.ms = 60;
    asked[1]!.answer([1, undefined]);
    await looks[1];
    expect(samples).toEqual([{ source: 'virginia', reader: 'oregon', ms: 40 }]);
    expect(reader.unseen).toBe(1);
    void reader.look();
    expect(asked[2]!.keys).toEqual(['b']);
  });

  it('a reader samples an update that it sees before the write is answered as 0', async () => {
    const { clock, asked, samples, reader, update } = world();
    reader.expect('a', update());
    const look = reader.look();
    clock.ms = 7;
    asked[0]!.answer(['value']);
    await look;
    expect(samples[0]!.ms).toBe(0);
  });

  it('a reader sends no read without an open update, and one at a time for each session when reads block', async () => {
    const { asked, reader, update } = world();
    void reader.look();
    expect(asked).toHaveLength(0);
    reader.expect('a', update(0));
    const [first] = Array.from({ length: 10 }, () => reader.look());
    expect(asked).toHaveLength(2);
    asked[0]!.answer([undefined]);
    await first;
    void reader.look();
    void reader.look();
    expect(asked).toHaveLength(3);
  });
});
