import { ScriptedNode, ScriptedStore } from './testing/scripted-node.js';
import { World } from './testing/world.js';

/** A client that is connected to a node, and where that is gone, to none. */
function connected() {
  const node = new ScriptedNode('east', new ScriptedStore());
  const world = new World([node], { settings: { requestTimeoutMs: 10_000 }, random: () => 1 });
  world.ask({ f: 'connect' });
  const state = (): string => world.machine.core.status(world.nowMs).state;
  return { node, world, state };
}

describe('a client that learns that the network may have changed', () => {
  it('has no connection any more within a second where its socket has gone silent', () => {
    const { node, world, state } = connected();
    node.script = () => 'drop';
    world.run(500);
    node.state = 'silent';
    world.step({ kind: 'network' });
    expect(state()).toBe('online');
    world.run(1100);
    expect(state()).toBe('offline');
  });

  it('keeps a connection that answers', () => {
    const { world, state } = connected();
    world.step({ kind: 'network' });
    world.run(3000);
    expect([state(), world.sockets.size]).toEqual(['online', 1]);
  });

  it('looks for a connection at once, however long it was to wait', () => {
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

  it('does nothing while it is connecting, and after it was closed', () => {
    const node = new ScriptedNode('east', new ScriptedStore());
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
  it('becomes stale by the local clock once the cluster would call it so, and the driver learns it', () => {
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
