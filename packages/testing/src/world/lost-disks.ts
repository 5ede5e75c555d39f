/** Shorthands of the claim tests about lost disks (D10). */
import type { ClusterSpec, StoredVersion } from '@isochron/core';
import type { RebuildStatus } from '@isochron/protocols/kernel/replication/rebuild';
import type { TransactionNode } from '@isochron/protocols/kernel/transactions/node';
import { PlainStore } from './plain-store.js';
import type { World } from './world.js';

/** A cluster of three regions with one node each, of which every one has every partition. */
export const everywhere = (partitions: number): ClusterSpec => ({
  regions: ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [{ name: 'default', partitions, replication: 3 }],
});

/** A node's data of a partition: key and chain. */
export const versions = (world: World, node: string, partition: number): [string, readonly StoredVersion[]][] =>
  [...world.node(node).store.chains].filter(([name]) => name.startsWith(`${partition}|`)).sort();

/** The parts of a world that these shorthands need, whatever its messages. */
interface AnyWorld extends Pick<World, 'crash' | 'run' | 'restart'> {
  node(id: string): { readonly parts: Pick<TransactionNode, 'membership'> };
}

/** A condition: the node has its data. */
export const joined = (world: AnyWorld, node: string) => () => world.node(node).parts.membership.joined;

/** A condition: the node has joined, and UST has passed its loss. */
export const recovered = (world: World, node: string) => () =>
  joined(world, node)() && world.ust() > world.node(node).parts.membership.incarnation;

/** Loses the node's disk while it is down. */
export function loseDisk(world: AnyWorld, node: string): void {
  world.crash(node);
  world.run(50);
  world.restart(node, new PlainStore());
}

/** The progress of a node's rebuild. */
export const rebuild = (world: World, node: string): RebuildStatus => world.node(node).parts.rebuild.describe();

/**
 * Runs as `World.run` does, and restarts a node that gives its disk up on an empty one, as a driver does.
 * @returns the nodes that gave up
 */
export function runRebuilding(world: World, ms: number): string[] {
  const gaveUp: string[] = [];
  const end = world.now + ms;
  while (world.now < end) {
    try {
      world.run(end - world.now);
    } catch (error) {
      if ((error as { code?: string }).code !== 'REBUILD_NEEDED') throw error;
      const node = world.failedNode!;
      gaveUp.push(node);
      if (gaveUp.length > 50) throw new Error(`disks are given up for ever: ${gaveUp.join(' ')}`, { cause: error });
      world.failure = undefined;
      world.crash(node);
      world.restart(node, new PlainStore(), { setAside: true });
    }
  }
  return gaveUp;
}

/** A backup of a disk. */
export function backup(store: PlainStore): PlainStore {
  const copy = new PlainStore();
  for (const [key, chain] of store.chains) copy.chains.set(key, [...chain]);
  for (const [key, value] of store.meta) copy.meta.set(key, value);
  for (const [key, value] of store.outcomes) copy.outcomes.set(key, value);
  for (const [key, value] of store.prepared) copy.prepared.set(key, value);
  for (const [key, value] of store.logs) copy.logs.set(key, [...value]);
  return copy;
}
