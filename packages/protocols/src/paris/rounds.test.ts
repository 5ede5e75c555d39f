/** Claims about commits that are made again after several maps, and about nodes that adopt these late (M5, M8). */
import type { NodeId } from '@isochron/core';
import { commitOver, id, settled } from '@isochron/testing/world/commits';
import type { World } from '@isochron/testing/world/world';
import { MAPS_MACHINE } from '../kernel/maps/map-machine.js';

const [V, O, I] = ['virginia-1', 'oregon-1', 'ireland-1'];
const SETTINGS = { suspendAfterMs: 400 };
const at = (node: NodeId) => ({ node, machine: MAPS_MACHINE });
const mapOf = (world: World, node: NodeId) => world.node(node).parts.maps.current;
const reach = (world: World, ct: number) =>
  world.until(() => [V, O].every((node) => world.node(node).parts.stable.value >= ct), 2_000);

/** Ireland's node stops and is suspended, or starts and returns. Returns the version of the new map. */
function silent(world: World, nodes: readonly NodeId[]): number {
  const isAway = nodes.length > 0;
  if (isAway) world.crash(I);
  else world.restart(I);
  for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes });
  world.until(() => [V, O].every((node) => mapOf(world, node).isMember(I) !== isAway), 20_000);
  return mapOf(world, V).version;
}

/**
 * A world in which a map has deferred a commit that its replicas had applied; Ireland's node commits nothing again when
 * it returns.
 */
function withDeferred() {
  const world = settled({ settings: SETTINGS });
  const { partitions } = world.topology;
  const cohortOn = (node: NodeId) =>
    partitions.findIndex(({ id: p }) => world.topology.cohort(p, 'virginia').node === node);
  // The horizon stays below the commit: one member receives nothing of Ireland's stream.
  const isPeer = (node: NodeId) => world.topology.partitionsOn(node).includes(cohortOn(I));
  world.filter = ({ from, to }) => from.node !== I || isPeer(to.node) || to.machine === 'coordinator';
  const request = commitOver(
    world,
    id(1),
    [cohortOn(V), cohortOn(I)].sort((a, b) => a - b),
  );
  const { ct } = world.call(V, request, 'CommitResp');
  world.run(50);
  silent(world, [I]);
  expect(mapOf(world, V).map.horizon).toBeLessThan(ct);
  world.filter = ({ message }) => message.type !== 'DeferredReq';
  const again = (map: number) =>
    world.call(V, { ...request, attemptRegions: ['virginia', 'virginia'], maps: [0, map] }, 'CommitResp');
  return { world, ct, again };
}

describe('PaRiS: commits and nodes behind several maps', () => {
  it('what a map has taken back is not found in the log by a later round (M4, M8)', () => {
    const { world, ct, again } = withDeferred();
    silent(world, []);
    reach(world, ct);
    const map = silent(world, [I]);
    expect(mapOf(world, V).map.horizon).toBeGreaterThan(ct);
    expect(again(map).ct).toBeGreaterThan(ct);
  });

  it('the outcome of an earlier round counts with the map of the round that asks (M8, M10)', () => {
    const { world, again } = withDeferred();
    const { ct } = again(1);
    silent(world, []);
    reach(world, ct);
    const map = silent(world, [I]);
    expect(again(map)).toMatchObject({ ct, map });
  });

  it('a node that lacks the map of a range asks for the rest of the range (M5, D6)', () => {
    const world = settled({ settings: SETTINGS });
    const partition = world.topology.partitionsOn(I).find((one) => world.topology.partitionsOn(O).includes(one))!;
    world.filter = ({ from, to }) => from.node !== O || to.node !== I;
    world.run(50);
    const { vv } = world.node(I).parts.replicas.find((one) => one.partition === partition)!.replication;
    const from = vv.applied('oregon');
    const range = {
      partition,
      source: 'oregon',
      verified: true,
      from,
      to: from + 1_000,
      groups: [],
      more: false,
      map: 1,
    };
    const machine = `replica/${partition}`;
    world.inject({ node: I, machine }, { node: O, machine }, { type: 'Replicate', ...range });
    const since = world.sent.length;
    world.run(2_500);
    const requests = world.sent.slice(since).flatMap(({ message }) => (message.type === 'ResyncReq' ? [message] : []));
    expect(requests).toContainEqual(expect.objectContaining({ partition, region: 'ireland', from }));
  });
});
