import { World } from '@isochron/testing/client/world';
import { memoryNodes, refusal } from '@isochron/testing/nodes/memory-node';

const LEASE_MS = 30_000;

/** A client with an open handle. */
function opened(mode: 'snapshot' | 'transaction') {
  const [node] = memoryNodes('east');
  const world = new World([node]);
  world.ask({ f: 'connect' });
  world.step({ kind: 'begin', handle: 1, mode });
  expect(world.ask({ f: 'open', handle: 1 }).settled).toBe(1);
  const openNow = (): string[] => {
    const ended = node.received('abort').map(({ tx }) => tx);
    return node
      .received('start')
      .map(({ tx }) => tx)
      .filter((tx) => !ended.includes(tx));
  };
  return { node, world, openNow };
}

describe('a snapshot that is held, and that nothing reads', () => {
  it('an idle snapshot is opened again before its lease ends, at the same timestamp, and is open once at a time', () => {
    const { node, world, openNow } = opened('snapshot');
    world.run(1000);
    let lastMs = world.nowMs;
    for (let count = 1; count < 10; count++) {
      while (node.received('start').length === count) world.run(100);
      expect(world.nowMs - lastMs).toBeLessThan(LEASE_MS);
      lastMs = world.nowMs;
      world.run(50);
      expect(openNow()).toHaveLength(1);
    }
    expect(new Set(node.received('start').map(({ at }) => at))).toEqual(
      new Set([undefined, node.answers('started')[0]!.snapshot]),
    );
    expect(world.ask({ f: 'read', handle: 1, keys: ['default/a'] }).value).toEqual([null]);
  });

  it('an idle snapshot is opened again when the connection is lost', () => {
    const { node, world } = opened('snapshot');
    world.cut(node);
    world.run(LEASE_MS);
    expect(node.received('start').at(-1)).toMatchObject({ at: node.answers('started')[0]!.snapshot });
  });

  it('an idle snapshot is opened again after a renewal that was refused', () => {
    const { node, world, openNow } = opened('snapshot');
    node.script = (frame) => (frame.type === 'start' ? refusal(frame.id, 'SNAPSHOT_UNAVAILABLE', true) : undefined);
    world.run(LEASE_MS / 2 + 100);
    node.script = () => undefined;
    world.run(LEASE_MS);
    expect(node.received('start').length).toBeGreaterThan(2);
    expect(openNow().length).toBeGreaterThan(0);
  });

  it('a snapshot that has ended is not opened again, even if it ended during a renewal', () => {
    const { node, world, openNow } = opened('snapshot');
    while (node.received('start').length === 1) world.run(1);
    world.step({ kind: 'end', handle: 1 });
    world.run(5 * LEASE_MS);
    expect([node.received('start').length, openNow()]).toEqual([2, []]);
  });
});

describe('a transaction', () => {
  it('a transaction is not opened again: it ends with its lease', () => {
    const { node, world } = opened('transaction');
    world.run(5 * LEASE_MS);
    expect(node.received('start')).toHaveLength(1);
  });
});
