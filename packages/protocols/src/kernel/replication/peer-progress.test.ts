/** Claims about streams that are received a second time (D10), with a gate for dependencies. */
import { keyIn } from '@isochron/testing/world/clients';
import { joined } from '@isochron/testing/world/lost-disks';
import { OperationClient, OperationWorld, REGIONS, replicated } from '@isochron/testing/world/operation-world';
import { PlainStore } from '@isochron/testing/world/plain-store';
import { copsGt } from '../../copsgt/copsgt.js';

const V = 'virginia-1';
const O = 'oregon-1';
const I = 'ireland-1';

describe('a stream that is received a second time', () => {
  it('a stream that is received a second time includes the groups that were waiting when its source lost its disk', () => {
    const world = new OperationWorld(copsGt, { spec: replicated(REGIONS, 1, 1) });
    world.run(300);
    const x = keyIn(world, 0);
    const g = `${x}-2`;
    // Ireland has g, which depends on x, but not x.
    world.cut(O, I);
    new OperationClient(world, O).put(x, '1');
    const reader = new OperationClient(world, V);
    world.until(() => reader.get(x) !== null, 2_000);
    const ct = reader.put(g, '2');
    const has = (node: string) => world.node(node).store.read(0, g, Number.MAX_SAFE_INTEGER)?.ts === ct;
    world.until(() => has(O), 2_000);
    world.run(100);
    // Virginia starts again while oregon is away, and then loses its disk.
    world.cut(V, O);
    world.crash(V);
    world.restart(V);
    world.run(3_000);
    world.crash(V);
    world.heal(V, O);
    world.restart(V, new PlainStore());
    world.until(joined(world, V), 10_000);
    world.run(500);
    world.heal(O, I);
    world.until(() => world.ust() > ct, 10_000);
    expect([V, O, I].map(has)).toEqual([true, true, true]);
  });
});
