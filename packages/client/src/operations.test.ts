/** The session of single operations, and its token. */

import { World } from '@isochron/testing/client/world';
import { MemoryCluster } from '@isochron/testing/nodes/memory-cluster';
import { MemoryNode } from '@isochron/testing/nodes/memory-node';
import { openOperations } from './session/operations.js';

/**
 * A client of single operations, connected to a node that holds its answers back. Tokens are as a node would sign them:
 * the state in the request, and what the answer adds.
 */
function connected() {
  const node = new MemoryNode('east', new MemoryCluster({ protocol: 'okapi' }));
  node.script = ({ type }) => (type === 'hello' || type === 'ping' ? undefined : 'drop');
  const world = new World([node], { engine: openOperations() });
  expect(world.ask({ f: 'connect' }).settled).toBe(1);
  /** Answers the newest request of a type as if that had added one timestamp to the session's state. */
  const answer = (type: 'get' | 'put', ts: number, of = node.received(type).at(-1)!): void => {
    const { id } = of;
    const rest = { id, seen: [ts], ust: 1000, token: `saw ${[...of.seen, ts].join(' ')}` };
    if (type === 'get') node.push({ type: 'got', values: [null], ...rest });
    else node.push({ type: 'written', ts, region: 'east', ...rest });
    world.run(5);
  };
  const token = () => world.machine.core.currentToken();
  return { world, node, answer, token };
}

describe('the token of a session of single operations', () => {
  it('the token of a session of single operations is that of the last answer', () => {
    const { world, answer, token } = connected();
    world.write('a');
    world.run(5);
    answer('put', 2000);
    world.read('a');
    world.run(5);
    answer('get', 1500);
    expect(token()).toBe('saw 2000 1500');
  });

  it.each([
    ['its time was up', (): void => {}, 1500],
    ['its caller gave it up', (read: ReturnType<World['read']>): void => read.cancel(new Error('enough')), 5],
  ])('the token keeps a write that was acknowledged when a read is answered after %s', (_what, leave, ms) => {
    const { world, node, answer, token } = connected();
    const read = world.read('a');
    world.run(5);
    const [asked] = node.received('get');
    leave(read);
    world.run(ms);
    expect([read.settled, read.value]).toEqual([1, undefined]);
    const write = world.write('a');
    world.run(5);
    answer('put', 2000);
    expect([write.settled, token()]).toEqual([1, 'saw 2000']);
    answer('get', 1500, asked);
    expect(token()).toBe('saw 2000');
    expect(world.machine.core.export().seen).toMatchObject({ seen: [2000] });
  });

  it("the answer to a write that the session has left does not replace the session's newer token", () => {
    const { world, node, answer, token } = connected();
    world.write('a');
    world.run(5);
    const [first] = node.received('put');
    expect(world.ask({ f: 'detach' }).value).toBe(first!.tx);
    world.write('b');
    world.run(5);
    answer('put', 2000);
    answer('put', 1500, first);
    expect(token()).toBe('saw 2000');
  });
});
