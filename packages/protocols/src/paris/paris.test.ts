import { keyIn, TestClient } from '../testing/clients.js';
import { World } from '../testing/world.js';

describe('PaRiS end to end on a virtual clock', () => {
  it('makes a transaction over several partitions visible in every region, at one timestamp', () => {
    const world = new World();
    world.run(50);
    const [a, b, c] = [keyIn(world, 0), keyIn(world, 1), keyIn(world, 2)];
    const client = new TestClient(world, 'virginia-1');
    const { ct } = client.write({ [a]: '1', [b]: '2', [c]: '3' });
    expect(client.readOnce(a, b, c)).toEqual(['1', '2', '3']);
    world.until(() => world.ust() >= ct);
    for (const node of world.topology.nodes) {
      expect(new TestClient(world, node).readOnce(a, b, c)).toEqual(['1', '2', '3']);
    }
  });

  it('keeps UST within a few rounds of the wall clock while idle', () => {
    const world = new World();
    world.run(3_000);
    expect(world.node('ireland-1').parts.clock.last - world.ust()).toBeLessThan(50 * 4096);
  });
});
