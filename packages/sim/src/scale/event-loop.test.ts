import { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { EventLoop } from './event-loop.js';

/**
 * Requests in a closed loop, each of `us`, `clients` at once; a client thinks for `thinkMs` between two. Returns how
 * many ended.
 */
function closedLoop(time: VirtualTime, loop: EventLoop, clients: number, us: number, thinkMs: number): () => number {
  let ended = 0;
  const ask = (): void =>
    loop.submit(() => {
      loop.charge('reads', us);
      loop.afterTurn(() => {
        ended++;
        time.after(thinkMs, ask);
      });
    });
  for (let i = 0; i < clients; i++) time.after((i * thinkMs) / clients, ask);
  return () => ended;
}

const run = (time: VirtualTime, ms: number): void => time.runUntil(time.now + ms, () => false);

describe('EventLoop', () => {
  it('an event loop is saturated at 1 / service time', () => {
    const time = new VirtualTime();
    const loop = new EventLoop(time, 1);
    const ended = closedLoop(time, loop, 50, 500, 1);
    run(time, 1_000);
    const before = [ended(), loop.busyMs] as const;
    run(time, 10_000);
    expect(ended() - before[0]).toBeGreaterThan(19_900);
    expect(ended() - before[0]).toBeLessThanOrEqual(20_050);
    expect(loop.busyMs - before[1]).toBeCloseTo(10_000, 6);
  });

  it('an event loop is busy for the share that its load gives it, and serves all of it', () => {
    const time = new VirtualTime();
    const loop = new EventLoop(time, 1);
    // Ten clients, each 1 ms of service and 39 ms of thought: 10 of 40 ms, where they do not meet.
    const ended = closedLoop(time, loop, 10, 1_000, 39);
    run(time, 40_000);
    expect(ended()).toBeGreaterThanOrEqual(9_990);
    expect(loop.busyMs / 40_000).toBeCloseTo(0.25, 2);
  });

  it('an event loop with two cores does twice as much', () => {
    const rates = [1, 2].map((cores) => {
      const time = new VirtualTime();
      const loop = new EventLoop(time, cores);
      const ended = closedLoop(time, loop, 64, 500, 1);
      run(time, 10_000);
      expect(loop.busyMs).toBeLessThanOrEqual(cores * 10_000 + 1e-6);
      return ended();
    });
    expect(rates[1]! / rates[0]!).toBeCloseTo(2, 1);
  });

  it('an event loop counts the time of a turn while it goes on, not before', () => {
    const time = new VirtualTime();
    const loop = new EventLoop(time, 1);
    loop.submit(() => loop.charge('reads', 4_000));
    run(time, 1);
    expect(loop.busyMs).toBeCloseTo(1, 9);
    run(time, 9);
    expect(loop.busyMs).toBeCloseTo(4, 9);
  });

  it('an event loop takes all waiting tasks as one turn, whose effects leave together at its end', () => {
    const time = new VirtualTime();
    const loop = new EventLoop(time, 1);
    const seen: (readonly [string, number])[] = [];
    const submit = (name: string, us: number): void =>
      loop.submit(() => {
        loop.charge('reads', us);
        loop.afterTurn(() => seen.push([name, time.now]));
      });
    submit('first', 1_000);
    time.after(0.25, () => submit('second', 1_000));
    time.after(0.5, () => submit('third', 2_000));
    run(time, 10);
    expect(seen).toEqual([
      ['first', 1],
      ['second', 4],
      ['third', 4],
    ]);
  });

  it('effects leave an event loop in the order of their turns, also where a later turn of another core ends first', () => {
    const time = new VirtualTime();
    const loop = new EventLoop(time, 2);
    const seen: (readonly [string, number])[] = [];
    const submit = (name: string, us: number): void =>
      loop.submit(() => {
        loop.charge('reads', us);
        loop.afterTurn(() => seen.push([name, time.now]));
      });
    submit('long', 5_000);
    time.after(1, () => submit('short', 1_000));
    run(time, 10);
    expect(seen).toEqual([
      ['long', 5],
      ['short', 5],
    ]);
  });
});
