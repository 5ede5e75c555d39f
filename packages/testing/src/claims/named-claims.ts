/// <reference types="jest" />
/** The claims of protocols whose dependencies name keys, and which show versions that are not stable. */
import type { OperationProtocol } from '@isochron/protocols/kernel/operations/protocol';
import { backup } from '../world/lost-disks.js';
import { settledWorld } from '../world/operation-fixtures.js';
import { keyIn, OperationClient, type OperationWorld, REGIONS, replicated } from '../world/operation-world.js';

type SentMessage = Parameters<OperationWorld['filter']>[0];

/** Registers the claims for one protocol. */
export function namedClaims(protocol: OperationProtocol): void {
  describe('an older disk', () => {
    it('a session reads again what it has read, although the replica comes back with an older disk (D10)', () => {
      const world = settledWorld(protocol, { spec: replicated(REGIONS.slice(0, 2), 2) });
      const key = keyIn(world, 0);
      // Nothing becomes stable, so that no peer can detect the older disk.
      const unstable = ({ message }: SentMessage) => !['GossipUp', 'GossipRoot', 'GossipDown'].includes(message.type);
      world.filter = unstable;
      const old = backup(world.node('virginia-1').store);
      new OperationClient(world, 'oregon-1').put(key, '1');
      const reader = new OperationClient(world, 'virginia-2');
      world.until(() => reader.get(key) === '1');
      world.crash('virginia-1');
      world.filter = (sent) => unstable(sent) && sent.message.type !== 'Replicate';
      world.restart('virginia-1', old);
      const ref = world.ask('virginia-2', reader.session.get(key));
      world.run(2_500); // the peer has reported
      expect(world.answer('virginia-2', ref)).toBeUndefined();
      world.filter = unstable;
      world.until(() => world.answer('virginia-2', ref) !== undefined);
      expect(world.answer('virginia-2', ref)).toMatchObject({ type: 'GetResp', version: { value: '1' } });
    });
  });
}
