/** Shorthands of the claim tests about nodes that are suspended (M4). */
import type { NodeId } from '@isochron/core';
import { MAPS_MACHINE } from '@isochron/protocols/kernel/maps/map-machine';
import type { CommitIdentity, PrepareReq } from '@isochron/protocols/kernel/transactions/messages';
import { keyIn } from './clients.js';
import type { World } from './world.js';

export const [V, O, I] = ['virginia-1', 'oregon-1', 'ireland-1'];
/** Of worlds in which the node of Ireland is suspended. */
export const SETTINGS = { suspendAfterMs: 400 };

/** The machine of a node that decides maps. */
export const at = (node: NodeId) => ({ node, machine: MAPS_MACHINE });
export const mapsOf = (world: World, node: NodeId) => world.node(node).parts.maps;

/** The partition with its cohort on a node. */
export const cohortOn = (world: World, node: NodeId, home = 'virginia') =>
  world.topology.partitions.findIndex(({ id: p }) => world.topology.cohort(p, home).node === node);
export const cohortAt = (world: World, node: NodeId) =>
  world.node(node).parts.replicas.find(({ partition }) => partition === cohortOn(world, node))!.cohort;
export const replicaOn = (world: World, node: NodeId) => ({ node, machine: `replica/${cohortOn(world, node)}` });

/** The transactions that a node has deferred. */
export const deferredAt = (world: World, node: NodeId) =>
  world.node(node).parts.replicas.flatMap(({ cohort }) => cohort.slices.deferred.inOrder().map(([txId]) => txId));

/** A prepare of the cohort on a node. */
export const prepareOf = (world: World, node: NodeId, identity: Omit<CommitIdentity, 'home'>): PrepareReq => ({
  type: 'PrepareReq',
  partition: cohortOn(world, node),
  identity: { ...identity, home: 'virginia' },
  ust: world.ust(),
  ht: world.ust(),
  sentAfter: world.ust(),
  principal: 'anonymous',
  writes: [{ key: keyIn(world, cohortOn(world, node)), value: '1' }],
});

/** The drivers of the others notice that they receive nothing from Ireland's node: it is suspended. */
export function suspends(world: World): void {
  for (const node of [V, O]) world.inject(at(node), at(node), { type: 'Silent', nodes: [I] });
  world.until(() => [V, O].every((node) => !mapsOf(world, node).current.isMember(I)), 5_000);
  expect(mapsOf(world, V).current.map.suspends).toEqual([world.topology.numberOf(I)]);
}
