/** Shorthands of Wren's claim tests. */
import type { ClusterSpec, NodeId, RegionId, Timestamp } from '@isochron/core';
import { wrenSession } from '@isochron/protocols/wren/session';
import { partsOf } from '@isochron/protocols/wren/snapshot';
import { wren } from '@isochron/protocols/wren/wren';
import { World, type WorldOptions } from './world.js';

const REGIONS: readonly RegionId[] = ['virginia', 'oregon', 'ireland', 'mumbai', 'sydney'];

/** Everything in every region. */
export const everywhereOn = (regions: number, nodes: number, partitions: number): ClusterSpec => ({
  regions: REGIONS.slice(0, regions).map((id) => ({
    id,
    nodes: Array.from({ length: nodes }, (_, i) => ({ id: `${id}-${i + 1}` })),
  })),
  keyspaces: [{ name: 'default', partitions, replication: regions }],
});

/** A world of Wren nodes that have received times from one another. */
export function wrenWorld(spec: ClusterSpec, options: WorldOptions = {}): World {
  const world = new World({ spec, protocol: wren, session: wrenSession, ...options });
  world.run(300);
  return world;
}

/** LST and RST at a node. */
export function times(world: World, node: NodeId): { readonly lst: Timestamp; readonly rst: Timestamp } {
  const [lst = 0, rst = 0] = world.node(node).parts.coordinator.state.regional.entries;
  return { lst, rst };
}

/** A snapshot of a region, by its position in the cluster file, as a request names it. */
export const snapshotOf = (lt: Timestamp, rt: Timestamp, region: number) => ({ at: lt, deps: [rt, region + 1, 0] });

/** The snapshot that a node would assign to a session that has seen nothing. */
export function assigned(world: World, node: NodeId): { readonly lt: Timestamp; readonly rt: Timestamp } {
  const request = { type: 'ReadReq' as const, txId: null, ust: 0, at: null, keys: [] };
  const { snapshot: ts, deps } = world.call(node, request, 'ReadResp');
  return partsOf({ ts, deps });
}
