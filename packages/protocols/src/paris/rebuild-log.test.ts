/** Claims about the logs from which a node follows its peers after it has copied them (D5, D10). */
import { qualify } from '@isochron/core';
import { TestClient } from '@isochron/testing/world/clients';
import { loseDisk, rebuild, recovered } from '@isochron/testing/world/lost-disks';
import { REGIONS, replicated } from '@isochron/testing/world/operation-world';
import { World } from '@isochron/testing/world/world';
import type { TransactionMessage } from '../kernel/transactions/messages.js';
import type { Envelope } from '../machine.js';

/** The second node of a region has partition 1, the first one is its root. */
const [V, O, I] = ['virginia-2', 'oregon-2', 'ireland-2'] as const;
const ROOT = 'oregon-1';
const FAR_MS = 300;
const BEHIND_MS = 250;

/**
 * Messages of oregon's root take long, so that a report of the region arrives after its other node has lost its disk
 * and has asked all peers. Ireland follows virginia late.
 */
function delayMs(from: string, to: string): number {
  if (from === V && to === I) return BEHIND_MS;
  return from === ROOT && !to.startsWith('oregon') ? FAR_MS : 1;
}

/** Copies every page but one: virginia's copy of the node's own versions. */
const withoutTheEnd = ({ message }: Envelope<TransactionMessage>): boolean =>
  !(message.type === 'CopyReq' && message.source === 'oregon');

describe('D10: the logs of the peers', () => {
  const key = qualify('default', 'k0');
  const logOf = (world: World, node: string) =>
    world
      .node(node)
      .store.ownLog(1)
      .map(({ ct }) => ct);

  it("the logs of the peers keep a rebuilt node's missing groups, although a stable time that still counts its lost disk passes them", () => {
    const { world, ct } = copying();
    world.until(() => world.node(V).parts.stable.aggregated >= ct, 2 * FAR_MS);
    world.run(200);
    expect(logOf(world, V)).toEqual([ct]);
    comesBack(world, '"a"');
    world.run(1_000);
    expect(logOf(world, V)).toEqual([]);
  });

  it("the logs of the peers keep a rebuilt node's missing groups through a restart, too", () => {
    const { world, ct } = copying();
    const { ct: later } = new TestClient(world, I).write({ [key]: '"b"' });
    world.until(() => vectorOf(world, I).durable('virginia') > ct, BEHIND_MS);
    // Virginia has its version vector on disk, with the lost disk's last version clock.
    expect(world.node(V).store.read(1, key, later)).toMatchObject({ ts: later });
    world.crash(V);
    world.run(10);
    expect(world.ust()).toBeLessThan(ct);
    world.restart(V);
    world.until(() => world.node(V).parts.stable.aggregated >= ct, 2 * FAR_MS);
    world.run(200);
    expect(logOf(world, V)).toEqual([ct]);
    comesBack(world, '"b"');
    world.run(2_000);
    expect(logOf(world, V)).toEqual([]);
  });

  const vectorOf = (world: World, node: string) => world.node(node).parts.replicas[0]!.replication.vv;

  /** A node that had a write on its lost disk has copied ireland, which lacks it, and waits for the end of the copy. */
  function copying(): { world: World; ct: number } {
    const world = new World({ spec: replicated(REGIONS, 2, 2), delayMs });
    expect(world.topology.partitionOf(key)).toBe(1);
    world.run(2_000);
    const { ct } = new TestClient(world, V).write({ [key]: '"a"' });
    world.until(() => vectorOf(world, O).durable('virginia') > ct, 100);
    world.run(30); // its root has reported it
    loseDisk(world, O);
    world.filter = withoutTheEnd;
    world.until(() => rebuild(world, O).remaining?.[0]?.from === V, 150);
    expect(vectorOf(world, I).durable('virginia')).toBeLessThan(ct);
    return { world, ct };
  }

  /** The copy ends, and the node follows virginia's log. */
  function comesBack(world: World, newest: string): void {
    expect(world.node(O).store.ownLog(1)).toEqual([]);
    world.filter = () => true;
    world.until(recovered(world, O), 20_000);
    expect(new TestClient(world, O).readOnce(key)).toEqual([newest]);
  }
});
