/** Claims about what a returned node owes, and other senders of the same transactions (M8, M11, M12). */
import type { NodeId } from '@isochron/core';
import { keyIn } from '@isochron/testing/world/clients';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import type { World } from '@isochron/testing/world/world';
import { MAPS_MACHINE } from '../kernel/maps/map-machine.js';

const [V, O, I] = ['virginia-1', 'oregon-1', 'ireland-1'];
const NODES: readonly NodeId[] = [V, O, I];
const at = (node: NodeId) => ({ node, machine: MAPS_MACHINE });
const isMember = (world: World, of: NodeId) => (node: NodeId) => world.node(node).parts.maps.current.isMember(of);
const silent = (world: World, nodes: readonly NodeId[]) => {
  for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes });
};

describe('PaRiS: a returned node', () => {
  it('a returned node does not commit a third time what was committed again and forgotten since its questions (M8, D5)', () => {
    const world = settled({ settings: { suspendAfterMs: 400, outcomeRetentionMs: 30_000 } });
    const partition = world.topology.partitions.findIndex(
      ({ id: p }) => world.topology.cohort(p, 'ireland').node === I && world.topology.cohort(p, 'virginia').node === V,
    );
    const request = { ...commitOver(world, id(1), [partition]), attemptRegions: ['ireland'] };
    world.filter = ({ from, message }) => !(from.node === I && message.type === 'Replicate');
    world.call(I, request, 'CommitResp');
    world.run(50);
    world.crash(I);
    silent(world, [I]);
    world.until(() => [V, O].every((node) => !isMember(world, I)(node)), 5_000);
    world.restart(I);
    silent(world, []);
    let heldBack = 0;
    world.filter = ({ from, message }) => {
      const isHeld = from.node === I && message.type === 'PrepareReq';
      if (isHeld) heldBack++;
      return !isHeld;
    };
    world.until(() => heldBack > 0, 20_000);
    const version = world.node(V).parts.maps.current.version;
    const again = { ...request, attemptRegions: ['ireland', 'virginia'], maps: [0, version] };
    const { ct } = world.call(V, again, 'CommitResp');
    const isForgotten = () => world.node(V).parts.replicas.every(({ droppedUpTo }) => droppedUpTo > ct);
    world.until(isForgotten, 150_000);
    world.filter = () => true;
    world.until(() => world.node(I).parts.returning?.owes === false, 20_000);
    world.run(1_000);
    const name = `${partition}|${keyIn(world, partition)}`;
    const chains = NODES.map((node) => world.node(node).store.chains.get(name) ?? []);
    expect(new Set(chains.flatMap((chain) => chain.map(({ ts }) => ts)))).toEqual(new Set([ct]));
  });
});
