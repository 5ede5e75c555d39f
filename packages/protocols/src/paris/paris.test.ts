import { HLC_TICKS_PER_MS } from '@isochron/core';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import { World } from '@isochron/testing/world/world';

describe('PaRiS end to end on a virtual clock', () => {
  it('PaRiS makes a transaction over several partitions visible in every region, at one timestamp', () => {
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

  it('PaRiS keeps UST within a few rounds of the wall clock while idle', () => {
    const world = new World();
    const { applyIntervalMs, idleBackoff } = world.settings;
    for (let i = 0; i < 100; i++) {
      world.run(37);
      // Just before a round UST is two rounds old, plus the delays of links and disks.
      const age = world.node('ireland-1').parts.clock.last - world.ust();
      if (i > 20) expect(age).toBeLessThan((2 * applyIntervalMs * idleBackoff + 10) * HLC_TICKS_PER_MS);
    }
  });

  it('a transaction that is open at a node is reported as committed once another node has committed it (D5)', () => {
    const world = settled();
    const [open, ask] = [
      { type: 'StartTxReq', txId: id(0), ust: 0, at: null },
      { type: 'TxStatusReq', txId: id(0) },
    ] as const;
    world.call('oregon-1', open, 'StartTxResp');
    expect(world.call('oregon-1', ask, 'TxStatusResp').status).toBe('open');
    const { ct } = world.call('virginia-1', commitOver(world, id(0), [0, 1]), 'CommitResp');
    world.run(50);
    expect(world.call('oregon-1', ask, 'TxStatusResp')).toMatchObject({ status: 'committed', ts: ct });
  });
});
