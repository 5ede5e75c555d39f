import { settledWorld } from '@isochron/testing/world/operation-fixtures';
import {
  blockedIn,
  busyWhile,
  keyIn,
  OperationClient,
  type OperationWorld,
  operationMessages,
  REGIONS,
  replicated,
} from '@isochron/testing/world/operation-world';
import type { WorldOptions } from '@isochron/testing/world/world-of';
import { eventual } from './eventual.js';

const settled = (options: WorldOptions = {}): OperationWorld => settledWorld(eventual, options);

describe('Eventual: what it does not do', () => {
  it('Eventual shows the photo beside the public access list: an effect without its cause', () => {
    const world = settled({ spec: replicated(REGIONS, 2), delayMs: () => 2 });
    const [acl, album] = [keyIn(world, 0, 'acl'), keyIn(world, 1, 'album')];
    const alice = new OperationClient(world, 'virginia-1');
    alice.put(acl, 'public');
    world.run(300);
    world.filter = ({ from, message }) => !(from.machine === 'replica/0' && message.type === 'Replicate');
    alice.put(acl, 'private');
    alice.put(album, 'photo');
    world.run(50);
    const bob = new OperationClient(world, 'oregon-1');
    expect(bob.rot(acl, album)).toEqual(['public', 'photo']);
    expect(bob.get(album)).toBe('photo');
    expect(bob.get(acl)).toBe('public');
  });

  it('Eventual carries nothing with a version and nothing with a session', () => {
    const world = settled();
    const client = new OperationClient(world, 'virginia-1');
    client.put(keyIn(world, 0), 'X');
    client.get(keyIn(world, 0));
    client.rot(keyIn(world, 0), keyIn(world, 1));
    world.run(100);
    expect(client.session.seen).toEqual([]);
    const versions = [...world.node('oregon-1').store.chains.values()].flat();
    expect(versions.map(({ deps }) => deps)).toEqual([undefined]);
  });

  it('no operation of Eventual waits', () => {
    const world = settled({
      spec: replicated(REGIONS, 2),
      skewMs: (node) => ({ 'virginia-1': 60, 'oregon-1': -35 })[node] ?? 0,
    });
    busyWhile(world, 8);
    expect(blockedIn(world)).toEqual({ reads: 0, puts: 0, rots: 0, ms: 0 });
  });

  it('a read of several keys is one message to each partition', () => {
    const world = settled({ spec: replicated(REGIONS, 5, 4) });
    const keys = [0, 1, 2, 3].map((partition) => keyIn(world, partition));
    const from = world.sent.length;
    new OperationClient(world, 'virginia-5').rot(...keys);
    expect(operationMessages(world, from)).toEqual([
      ...keys.map(() => 'RotSliceReq'),
      ...keys.map(() => 'RotSliceResp'),
    ]);
  });
});
