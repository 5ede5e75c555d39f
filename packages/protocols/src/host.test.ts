import type { DurableRecord, ReadNeeds } from '@isochron/core';
import { Host, type HostPorts } from './host.js';
import type { Effects, Input, Machine } from './machine.js';

type Note = { readonly type: 'Note'; readonly text: string };

/** Records its inputs, and sends a promise for each note. */
class Recorder implements Machine<Note> {
  readonly seen: string[] = [];

  step(input: Input<Note>, out: Effects<Note>): void {
    if (input.kind === 'message') {
      const { text } = input.message;
      this.seen.push(text);
      out.write({ kind: 'meta', name: text, value: 1 });
      out.sendAfterPersist({ node: 'b', machine: 'm' }, { type: 'Note', text: `promise of ${text}` });
    } else if (input.kind === 'link') this.seen.push(input.up ? 'up' : 'down');
  }

  needs({ text }: Note): ReadNeeds | undefined {
    return text.startsWith('cold') ? { kind: 'keys', partition: 0, keys: [text] } : undefined;
  }

  invariants(): void {}
  describe(): object {
    return {};
  }
}

describe('a host', () => {
  let machine: Recorder;
  let host: Host<Note>;
  let batches: { records: readonly DurableRecord[]; done: (error?: unknown) => void }[];
  let prefetches: ((error?: unknown) => void)[];
  let sent: string[];
  let resident: boolean;
  beforeEach(() => {
    [batches, prefetches, sent, resident] = [[], [], [], false];
    const ports: HostPorts<Note> = {
      now: () => 1,
      persist: (records, done) => batches.push({ records, done }),
      resident: () => resident,
      prefetch: (_needs, done) => prefetches.push(done),
      transmit: (_node, envelopes) => sent.push(...envelopes.map(({ message }) => message.text)),
      endOfTurn: (run) => run(),
      wakeAfter: () => undefined,
      fail: (error) => {
        throw error;
      },
    };
    machine = new Recorder();
    host = new Host('a', ports);
    host.add('m', machine);
    host.run();
  });

  const note = (text: string): void => {
    const [to, from] = ['a', 'b'].map((node) => ({ node, machine: 'm' }));
    host.receive([{ to: to!, from: from!, message: { type: 'Note', text } }]);
  };

  it('a host sends no promise before its driver reports that the batch is on the disk, however late', () => {
    note('one');
    note('two');
    expect([batches.length, sent]).toEqual([1, []]);
    batches[0]!.done();
    expect(sent).toEqual(['promise of one']);
    expect(batches).toHaveLength(2);
    batches[1]!.done();
    expect(sent).toEqual(['promise of one', 'promise of two']);
  });

  it('a paused host takes no step, and then handles everything in the order in which it came', () => {
    host.pause();
    note('one');
    host.link('b', false);
    host.link('b', true);
    note('two');
    host.wake();
    host.run();
    expect(machine.seen).toEqual([]);
    host.resume();
    expect(machine.seen).toEqual(['one', 'down', 'up', 'two']);
  });

  it('a host prefetches again after a pause, because the store was opened again', () => {
    note('cold');
    expect(prefetches).toHaveLength(1);
    host.pause();
    prefetches[0]!(new Error('closed'));
    host.resume();
    expect([prefetches.length, machine.seen]).toEqual([2, []]);
    resident = true;
    prefetches[1]!();
    expect(machine.seen).toEqual(['cold']);
  });
});

it('a clock that is set back before the first step of a machine, and forward again, delays no timer', () => {
  let wall = 10_000_000_000;
  const wakes: number[] = [];
  const stepped: string[] = [];
  const host = new Host<Note>('a', {
    now: () => wall,
    persist: () => undefined,
    resident: () => true,
    prefetch: () => undefined,
    transmit: () => undefined,
    endOfTurn: (run) => run(),
    wakeAfter: (ms) => wakes.push(ms),
    fail: (error) => {
      throw error;
    },
  });
  host.add('m', {
    step: (input, out) => {
      if (input.kind !== 'timer') return;
      stepped.push(input.timer);
      out.setTimer('round', input.now + 10);
    },
    invariants: () => undefined,
    describe: () => ({}),
  });
  wall -= 805_789_848;
  host.run();
  expect([stepped, wakes]).toEqual([['start'], [10]]);
  wall += 10;
  host.wake();
  wall += 805_789_848;
  for (let i = 0; i < 3; i++) {
    wall += 10;
    host.wake();
  }
  expect(stepped.slice(0, 3)).toEqual(['start', 'round', 'round']);
  expect(Math.max(...wakes)).toBeLessThanOrEqual(10);
});
