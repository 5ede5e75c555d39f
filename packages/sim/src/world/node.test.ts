import type { AnyMessage, DurableRecord } from '@isochron/core';
import { Random, Topology } from '@isochron/core';
import type { Effects, Input, Machine } from '@isochron/protocols';
import type { ServedSessions } from '@isochron/sessions';
import { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { WallClock } from '@isochron/simulated-world/wall-clock';
import { Disk } from './disk.js';
import { SimNode } from './node.js';

interface Note extends AnyMessage {
  readonly type: 'Note';
  readonly n: number;
}

/** Records its messages, promises them to `b`, and sends them to `c` at once. */
class Clerk implements Machine<Note> {
  readonly received: number[] = [];

  step(input: Input<Note>, out: Effects<Note>): void {
    if (input.kind !== 'message') return;
    this.received.push(input.message.n);
    out.write({ kind: 'meta', name: `n${input.message.n}`, value: 1 });
    out.send({ node: 'c', machine: 'clerk' }, input.message);
    out.sendAfterPersist({ node: 'b', machine: 'clerk' }, input.message);
  }

  invariants(): void {}

  describe(): object {
    return {};
  }
}

function started() {
  const time = new VirtualTime();
  const durable: DurableRecord[] = [];
  const sent: string[] = [];
  const hooks = { onTransmit: (): void => {} };
  let clerk = new Clerk();
  const disk = new Disk(time, { syncMs: () => 10 }, false, (records) => durable.push(...records));
  const topology = Topology.of({ regions: [{ id: 'r', nodes: [{ id: 'a' }] }], keyspaces: [] });
  const node: SimNode<Note> = new SimNode<Note>('a', 'r', new WallClock(time, { skewMs: 0, driftPpm: 0 }), disk, {
    time,
    topology,
    pings: () => false,
    random: new Random(1),
    coldReads: 0,
    prefetchMs: 0,
    listener: {
      stepping: () => {},
      stepped: () => {},
      wrote: () => {},
      sends: () => {},
      persisting: () => {},
      started: () => {},
      crashed: () => {},
      failed: (_node, error) => {
        throw error;
      },
    },
    openHttp: () => undefined,
    openSessions: () => ({
      machine: ['frames', { step: () => {}, invariants: () => {}, describe: () => ({}) }],
      sessions: {} as ServedSessions,
      leave: () => {},
    }),
    create: () => {
      clerk = new Clerk();
      node.disk.recover();
      return {
        machines: [['clerk', clerk]],
        hlc: () => 0,
        greeting: () => ({ hlc: 0, wallMs: 0 }),
        meets: () => undefined,
        receives: () => undefined,
        ready: () => true,
        latest: () => 0,
        ust: () => 0,
        maps: { at: () => topology, current: topology, newest: topology.map, leaving: new Set(), cutsAfter: () => [] },
        served: () => 0,
        want: () => {},
        load: () => ({}),
        backlog: () => ({}),
        losses: () => [],
      };
    },
    refuse: () => {},
    operate: () => undefined,
    transmit: (_from, to, frame) => {
      sent.push(...frame.envelopes.map(({ message }) => `${to}:${message.n}`));
      hooks.onTransmit();
    },
  });
  node.boot();
  const address = (id: string) => ({ node: id, machine: 'clerk' });
  const deliver = (n: number) =>
    node.receive('b', { hlc: 0, envelopes: [{ to: address('a'), from: address('b'), message: { type: 'Note', n } }] });
  const run = (ms: number) => time.runUntil(time.now + ms, () => false);
  return { node, durable, sent, hooks, deliver, run, received: () => clerk.received };
}

describe('a simulated node', () => {
  it('a simulated node keeps a promise until the records behind it are on the disk', () => {
    const { sent, deliver, run } = started();
    deliver(1);
    run(5);
    expect(sent).toEqual(['c:1']);
    run(10);
    expect(sent).toEqual(['c:1', 'b:1']);
  });

  it('a simulated node does nothing more once it has died between two frames of a turn: nothing of its turn reaches the disk', () => {
    const { node, durable, sent, hooks, deliver, run } = started();
    hooks.onTransmit = () => node.crash(false);
    deliver(1);
    run(100);
    hooks.onTransmit = () => {};
    node.boot();
    run(100);
    expect([durable, sent]).toEqual([[], ['c:1']]);
  });

  it('a simulated node that was paused receives in order the messages that came meanwhile', () => {
    const { node, sent, deliver, run, received } = started();
    node.pause();
    node.pause();
    for (const n of [1, 2]) deliver(n);
    node.resume();
    run(100);
    expect(received()).toEqual([]);
    node.resume();
    run(100);
    expect([received(), sent]).toEqual([
      [1, 2],
      ['c:1', 'c:2', 'b:1', 'b:2'],
    ]);
  });

  it('a simulated node loses the messages that came while it was paused with its process', () => {
    const { node, deliver, run, received } = started();
    node.pause();
    deliver(1);
    node.crash(false);
    node.boot();
    node.resume();
    run(100);
    expect(received()).toEqual([]);
  });
});
