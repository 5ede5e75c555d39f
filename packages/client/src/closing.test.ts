import { type Called, World } from '@isochron/testing/client/world';
import { memoryNodes } from '@isochron/testing/nodes/memory-node';

let world: World;
afterEach(() => {
  expect(world.violations).toEqual([]);
  expect([world.timerMs, world.live]).toEqual([Number.POSITIVE_INFINITY, []]);
});

function connected(chains = true) {
  const [node] = memoryNodes('east');
  if (!chains) node.lacks('chained-commits');
  world = new World([node], { random: () => 1, settings: { requestTimeoutMs: 10_000 } });
  world.ask({ f: 'connect' });
  return { node, cluster: node.cluster };
}

const codeOf = ({ settled, reason }: Called): string => (settled === 0 ? 'waits' : (reason?.code ?? 'done'));
const close = (flushMs?: number): Called => world.call({ f: 'close', ...(flushMs === undefined ? {} : { flushMs }) });

describe('a client that closes', () => {
  it.each([true, false])(
    'a client that closes sends the writes that were called before, in order (chained: %s)',
    (chains) => {
      const { cluster } = connected(chains);
      const writes = ['a', 'b', 'c'].map((key) => world.write(key));
      const closing = close(5000);
      world.run(100);
      expect([...writes, closing].map(codeOf)).toEqual(['done', 'done', 'done', 'done']);
      expect(closing.value).toEqual({ dropped: [], undecided: [] });
      expect(cluster.outcomes.size).toBe(3);
    },
  );

  it('a client that closes ends reads, and takes no further calls, while it sends its writes', () => {
    const { node } = connected();
    node.delayMs = 100;
    const [before, write] = [world.read('a'), world.write('a')];
    const closing = close(5000);
    const after = [world.read('a'), world.write('b')];
    expect([before, ...after].map(codeOf)).toEqual(['CLIENT_CLOSED', 'CLIENT_CLOSED', 'CLIENT_CLOSED']);
    expect([write, closing].map(codeOf)).toEqual(['waits', 'waits']);
    world.run(1000);
    expect([write, closing].map(codeOf)).toEqual(['done', 'done']);
  });

  it('a client that closes during an outage sends its writes when the node is back within the time', () => {
    const { node } = connected();
    node.state = 'refuses';
    world.cut(node);
    world.run(1000);
    const write = world.write('a');
    const closing = close(5000);
    world.run(2000);
    node.state = 'serves';
    world.run(2000);
    expect([write, closing].map(codeOf)).toEqual(['done', 'done']);
  });

  it('a client that cannot send its writes in time reports those that had no effect, and those that may have had one', () => {
    const { node } = connected(false);
    node.script = (frame) => (frame.type === 'commit' ? 'drop' : undefined);
    const writes = ['a', 'b'].map((key) => world.write(key));
    world.run(10);
    const closing = close(3000);
    world.run(2900);
    expect([...writes, closing].map(codeOf)).toEqual(['waits', 'waits', 'waits']);
    world.run(200);
    expect([...writes, closing].map(codeOf)).toEqual(['OUTCOME_UNKNOWN', 'CLIENT_CLOSED', 'done']);
    const { tx: txId, sentAfter } = node.received('commit')[0]!;
    expect(closing.value).toEqual({ dropped: [['default/b']], undecided: [{ txId, sentAfter }] });
  });

  it('a client without a connection reports the writes that it drops', () => {
    const { node } = connected();
    node.state = 'refuses';
    world.cut(node);
    world.run(100);
    const writes = ['a', 'b'].map((key) => world.write(key));
    const closing = close(1000);
    world.run(1100);
    expect([...writes, closing].map(codeOf)).toEqual(['CLIENT_CLOSED', 'CLIENT_CLOSED', 'done']);
    expect(closing.value).toEqual({ dropped: [['default/a'], ['default/b']], undecided: [] });
  });

  it('a second call ends the writes earlier, and both have the report', () => {
    const { node } = connected();
    node.state = 'refuses';
    world.cut(node);
    world.run(100);
    world.write('a');
    const closings = [close(60_000), close(0)];
    world.run(10);
    expect(closings.map(({ value }) => value)).toEqual(Array(2).fill({ dropped: [['default/a']], undecided: [] }));
  });

  it('a client may close twice', () => {
    connected();
    const closings = [close(), close()];
    world.run(50);
    expect(closings.map(codeOf)).toEqual(['done', 'done']);
  });

  it('a client that closes does not wait for a node that has not answered its hello', () => {
    const node = memoryNodes('east')[0];
    node.script = () => 'drop';
    world = new World([node]);
    const connecting = world.ask({ f: 'connect' });
    node.state = 'silent';
    const closing = world.ask({ f: 'close' });
    expect([connecting.settled, closing.settled]).toEqual([1, 1]);
  });
});
