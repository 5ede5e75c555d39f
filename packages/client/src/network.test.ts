import { World } from '@isochron/testing/client/world';
import { memoryNodes } from '@isochron/testing/nodes/memory-node';

/** A client that is connected to its only node. */
function connected() {
  const [node] = memoryNodes('east');
  const world = new World([node], { settings: { requestTimeoutMs: 10_000 }, random: () => 1 });
  world.ask({ f: 'connect' });
  const state = (): string => world.machine.core.status(world.nowMs).state;
  return { node, world, state };
}

describe('a client after a possible change of the network', () => {
  it('a client whose socket is silent after a network change drops its connection within a second', () => {
    const { node, world, state } = connected();
    node.script = () => 'drop';
    world.run(500);
    node.state = 'silent';
    world.step({ kind: 'network' });
    expect(state()).toBe('online');
    world.run(1100);
    expect(state()).toBe('offline');
  });

  it('a client keeps a connection that answers after a network change', () => {
    const { world, state } = connected();
    world.step({ kind: 'network' });
    world.run(3000);
    expect([state(), world.sockets.size]).toEqual(['online', 1]);
  });

  it('a client without a connection looks for one at once after a network change, however long its pause was', () => {
    const { node, world, state } = connected();
    node.state = 'refuses';
    world.cut(node);
    world.run(60_000);
    node.state = 'serves';
    const waitedMs = world.timerMs - world.nowMs;
    world.step({ kind: 'network' });
    world.run(10);
    expect(state()).toBe('online');
    expect(waitedMs).toBeGreaterThan(100);
  });

  it('a network change has no effect on a client that is connecting, or is closed', () => {
    const [node] = memoryNodes('east');
    const world = new World([node]);
    const connecting = world.call({ f: 'connect' });
    world.step({ kind: 'network' });
    world.run(50);
    expect(connecting.settled).toBe(1);
    world.ask({ f: 'close' });
    world.step({ kind: 'network' });
    world.run(60_000);
    expect([world.live, world.timerMs]).toEqual([[], Number.POSITIVE_INFINITY]);
  });
});

describe('the status of a client without a connection', () => {
  it('the status without a connection becomes stale by the local clock, and the driver is notified', () => {
    const { node, world } = connected();
    const stale = (): boolean => world.machine.core.status(world.nowMs).stale;
    node.state = 'refuses';
    world.cut(node);
    world.run(9_000);
    expect(stale()).toBe(false);
    const changes = world.changes;
    world.run(1_500);
    expect(stale()).toBe(true);
    expect(world.changes).toBeGreaterThan(changes);
    node.state = 'serves';
    world.step({ kind: 'network' });
    world.run(100);
    expect(stale()).toBe(false);
  });
});
