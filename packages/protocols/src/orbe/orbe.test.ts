import { checksOfReaders } from '@isochron/testing/claims/matrix-claims';
import { refusal, settledWorld } from '@isochron/testing/world/operation-fixtures';
import {
  blockedIn,
  busyWhile,
  keyIn,
  OperationClient,
  type OperationWorld,
  REGIONS,
  replicated,
} from '@isochron/testing/world/operation-world';
import type { WorldOptions } from '@isochron/testing/world/world-of';
import { orbe } from './orbe.js';

const settled = (options: WorldOptions = {}): OperationWorld => settledWorld(orbe, options);

describe('Orbe, the DM protocol', () => {
  it('the DM protocol has no read-only transactions: they are refused with NOT_SUPPORTED_BY_PROTOCOL (section 3)', () => {
    const world = settled();
    const client = new OperationClient(world, 'virginia-1');
    const keys = [keyIn(world, 0), keyIn(world, 1)];
    expect(refusal(world, 'virginia-1', client.session.rot(keys))).toBe('NOT_SUPPORTED_BY_PROTOCOL');
    const replica = { node: 'virginia-1', machine: 'replica/0' };
    const stranger = { node: 'oregon-1', machine: 'coordinator' };
    world.inject(replica, stranger, { type: 'RotSliceReq', ref: 1, partition: 0, snapshot: [], keys: [keys[0]!] });
    world.run(10);
    expect(world.sent.map(({ message }) => message)).toContainEqual(
      expect.objectContaining({ type: 'Refused', ref: 1, code: 'NOT_SUPPORTED_BY_PROTOCOL' }),
    );
  });

  it('“none of them is blocking”: no GET and no PUT ever waits, with clocks that disagree and a region far away', () => {
    const world = settled({
      spec: replicated(REGIONS, 2),
      delayMs: (a, b) => (a.slice(0, 3) === b.slice(0, 3) ? 1 : 70),
      skewMs: (node) => (node.endsWith('2') ? -300 : 0),
    });
    busyWhile(world, 6);
    world.run(300);
    expect(blockedIn(world)).toEqual({ reads: 0, puts: 0, rots: 0, ms: 0 });
    expect(world.counted('ireland-1', 'dependencyChecks')).toBeGreaterThan(0);
  });

  it('“Zero elements do not use any bits”: a PUT carries what a client has read since its last write (section 3.1)', () => {
    const world = settled();
    const keys = [0, 1, 2, 3, 4, 5].map((partition) => keyIn(world, partition));
    const client = new OperationClient(world, 'virginia-1');
    for (const key of keys) new OperationClient(world, 'virginia-1').put(key, '1');
    for (const key of keys.slice(0, 4)) client.get(key);
    client.put(keys[0]!, '2');
    client.put(keys[1]!, '3');
    world.run(50);
    const sizes = world.sent.flatMap(({ to, message }) =>
      message.type === 'Replicate' && to.node === 'oregon-1'
        ? message.groups.map(({ txs }) => (txs[0]!.deps!.length - 1) / 3)
        : [],
    );
    expect(sizes.sort()).toEqual([0, 0, 0, 0, 0, 0, 1, 4]);
  });

  it("a GET carries the client's dependencies on its key’s partition, and nothing else", () => {
    const world = settled({ spec: replicated(REGIONS, 2) });
    const client = new OperationClient(world, 'virginia-1');
    const keys = [0, 1, 3, 5].map((partition) => keyIn(world, partition));
    for (const key of keys) new OperationClient(world, 'virginia-1').put(key, '1');
    for (const key of [...keys, ...keys]) client.get(key);
    expect(client.session.seen).toHaveLength(4 * 3);
    const carried = world.sent.flatMap(({ message }) => (message.type === 'GetSliceReq' ? [message.seen.length] : []));
    expect(carried).toEqual([0, 0, 0, 3, 3, 3]);
  });

  it('a client that reads every partition and writes to one causes a check at each of them in each region (section 7.6)', () => {
    // Three partitions of the other node, in two regions; those of the own node need no message.
    expect(checksOfReaders(settled({ spec: replicated(REGIONS, 2) }), 5)).toBe(5 * 3 * 2);
  });

  it('while a region is cut off the others go on, and their updates reach each other (section 5.1)', () => {
    const world = settled();
    for (const other of ['virginia-1', 'oregon-1']) world.cut('ireland-1', other);
    const client = new OperationClient(world, 'virginia-1');
    client.put(keyIn(world, 0), 'X');
    client.put(keyIn(world, 1), 'Y');
    world.run(50);
    expect(new OperationClient(world, 'oregon-1').rot(keyIn(world, 1), keyIn(world, 0))).toEqual(['Y', 'X']);
    for (const other of ['virginia-1', 'oregon-1']) world.heal('ireland-1', other);
    world.run(100);
    expect(new OperationClient(world, 'ireland-1').rot(keyIn(world, 1), keyIn(world, 0))).toEqual(['Y', 'X']);
  });
});
