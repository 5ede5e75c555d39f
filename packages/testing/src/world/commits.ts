/** Commits as a session would send them, for claims about their outcomes. */
import type { CommitReq } from '@isochron/protocols/kernel/transactions/messages';
import { keyIn } from './clients.js';
import { World } from './world.js';

/** A world whose nodes have received stable times. */
export function settled(options?: ConstructorParameters<typeof World>[0]): World {
  const world = new World(options);
  world.run(100);
  return world;
}

/** A commit request over partitions, as a session in virginia would send it. */
export function commitOver(world: World, txId: string, partitions: number[], value = '1'): Omit<CommitReq, 'ref'> {
  const writes = partitions.map((partition) => ({ key: keyIn(world, partition), value }));
  const ust = world.node('virginia-1').parts.stable.value;
  return {
    type: 'CommitReq',
    txId,
    snapshot: ust,
    hwt: 0,
    sentAfter: ust,
    attemptRegions: ['virginia'],
    principal: 'anonymous',
    writes,
  };
}

export const id = (n: number): string => `commit-test-session.${n}`;
