import { World } from '@isochron/testing/client/world';
import { memoryNodes } from '@isochron/testing/nodes/memory-node';

/** A client that is connected to its only node. */
function connected(requestTimeoutMs = 10_000) {
  const [node] = memoryNodes('east');
  const world = new World([node], {
    settings: { requestTimeoutMs, connectTimeoutMs: 5000, commitTimeoutMs: 30_000 },
    random: () => 1,
  });
  world.ask({ f: 'connect' });
  const state = (): string => world.machine.core.status(world.nowMs).state;
  return { node, world, state };
}

describe('a client whose program stood still', () => {
  it('requests that a sleep interrupts are repeated on another connection after it, however long the sleep was', () => {
    const { node, world } = connected();
    node.script = () => 'drop';
    const calls = [world.read('a'), world.write('b')];
    world.run(100);
    world.sleep(3_600_000);
    node.script = () => undefined;
    node.delayMs = 300;
    world.cut(node);
    world.run(2900);
    expect(calls.map(({ settled, reason }) => [settled, reason])).toEqual([
      [1, undefined],
      [1, undefined],
    ]);
  });

  it('requests whose time was nearly over before a sleep have time for another connection after it', () => {
    const { node, world } = connected();
    node.script = () => 'drop';
    const calls = [world.read('a'), world.write('b')];
    world.run(9_900);
    world.sleep(60_000);
    node.script = () => undefined;
    node.delayMs = 300;
    world.cut(node);
    world.run(2900);
    expect(calls.map(({ settled, reason }) => [settled, reason])).toEqual([
      [1, undefined],
      [1, undefined],
    ]);
  });

  it('a client drops a connection that is silent after a sleep within a second, with or without requests', () => {
    const { node, world, state } = connected();
    node.script = () => 'drop';
    node.state = 'silent';
    world.sleep(60_000);
    world.run(1100);
    expect(state()).toBe('offline');
  });

  it('a client without a connection tries its endpoints at once after a sleep, whatever was left of its pause', () => {
    const { node, world, state } = connected();
    node.state = 'refuses';
    world.cut(node);
    world.run(60_000);
    node.state = 'serves';
    world.sleep(3_600_000);
    world.run(10);
    expect(state()).toBe('online');
  });

  it('a request under timers that come late again and again ends after its time and one delay', () => {
    const { node, world } = connected();
    node.script = () => 'drop';
    node.state = 'silent';
    const call = world.read('a');
    for (let count = 0; count < 3; count++) {
      world.sleep(60_000);
      world.run(0);
    }
    expect(call.settled).toBe(1);
  });

  it('a request under slow timers ends after its time and one delay, also while messages come between them', () => {
    const { node, world } = connected();
    node.script = (frame) => (frame.type === 'read' ? 'drop' : undefined);
    world.run(1000);
    world.setTimer = () => undefined;
    const call = world.read('a');
    for (let second = 2; second <= 120; second += 2) {
      world.timerMs = second % 60 === 0 ? world.nowMs + 2000 : Number.POSITIVE_INFINITY;
      node.push({ type: 'ust', ust: node.cluster.ust, freshness: node.freshness() });
      world.run(2000);
    }
    expect(call).toMatchObject({ settled: 1, reason: { code: 'CONNECTION_LOST' } });
  });

  it('the age of what a session reads counts the time of a sleep', () => {
    const { node, world } = connected();
    const status = () => world.machine.core.status(world.nowMs);
    world.run(1100);
    const before = status();
    node.state = 'silent';
    world.sleep(60_000);
    world.run(1);
    expect(before.stale).toBe(false);
    expect(status().stale).toBe(true);
    expect(status().stalenessMs! - before.stalenessMs!).toBeGreaterThan(59_000);
  });
});
