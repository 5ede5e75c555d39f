import { checksOfReaders } from '@isochron/testing/claims/matrix-claims';
import { settledWorld, without } from '@isochron/testing/world/operation-fixtures';
import {
  keyIn,
  OperationClient,
  type OperationWorld,
  REGIONS,
  replicated,
} from '@isochron/testing/world/operation-world';
import type { WorldOptions } from '@isochron/testing/world/world-of';
import { elementsOf } from '../kernel/operations/dependency-matrix.js';
import { orbeCleaning } from './orbecleaning.js';

const settled = (options: WorldOptions = {}): OperationWorld => settledWorld(orbeCleaning, options);

/** The number of elements in the matrix of a new client that has read a key. */
function dependsAfter(world: OperationWorld, node: string, key: string): number {
  const client = new OperationClient(world, node);
  client.get(key);
  return elementsOf(client.session.seen).length;
}

/** Acknowledgements or completions that have crossed a link, with their senders. */
const sentOf = (world: OperationWorld, type: 'ReplicationAck' | 'ReplicationComplete') =>
  world.sent.flatMap(({ from, to, message }) =>
    message.type === type && 'upTo' in message && 'region' in message
      ? [{ from: from.node, to: to.node, upTo: message.upTo, partition: message.partition }]
      : [],
  );

describe('Orbe: dependency cleaning (section 6)', () => {
  it('“p sends a reply message back to the client without including d’s update timestamp” once every replica has it', () => {
    const world = settled({ delayMs: () => 30 });
    const key = keyIn(world, 0);
    new OperationClient(world, 'virginia-1').put(key, 'X');
    expect(dependsAfter(world, 'virginia-1', key)).toBe(1);
    world.run(20);
    expect(dependsAfter(world, 'virginia-1', key)).toBe(1);
    world.run(150);
    for (const node of ['virginia-1', 'oregon-1', 'ireland-1']) expect(dependsAfter(world, node, key)).toBe(0);
    expect(world.counted('oregon-1', 'cleaned')).toBe(1);
  });

  it('“this duration is roughly 1.5 WAN round-trip latency”: until then readers far away keep the dependency', () => {
    const world = settled({ delayMs: () => 40 });
    const key = keyIn(world, 0);
    new OperationClient(world, 'virginia-1').put(key, 'X');
    const begun = world.now;
    world.until(() => new OperationClient(world, 'oregon-1').get(key) === 'X');
    expect(dependsAfter(world, 'oregon-1', key)).toBe(1);
    world.until(() => dependsAfter(world, 'oregon-1', key) === 0);
    expect(world.now - begun).toBeGreaterThan(120);
    expect(world.now - begun).toBeLessThan(180);
  });

  it('“Once p receives replication acknowledgments of d from all other replicas”: while one region is away, clients keep every dependency', () => {
    const world = settled();
    const key = keyIn(world, 0);
    for (const other of ['virginia-1', 'oregon-1']) world.cut('ireland-1', other);
    new OperationClient(world, 'virginia-1').put(key, 'X');
    world.run(300);
    for (const node of ['virginia-1', 'oregon-1']) expect(dependsAfter(world, node, key)).toBe(1);
    for (const other of ['virginia-1', 'oregon-1']) world.heal('ireland-1', other);
    world.run(100);
    for (const node of ['virginia-1', 'oregon-1', 'ireland-1']) expect(dependsAfter(world, node, key)).toBe(0);
  });

  it('an acknowledgement covers updates on disk: it is a promise (D1)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    world.diskMs.set('oregon-1', Number.POSITIVE_INFINITY);
    const ts = new OperationClient(world, 'virginia-1').put(key, 'X');
    world.run(200);
    const acknowledged = sentOf(world, 'ReplicationAck').filter(({ upTo }) => upTo >= ts);
    expect(acknowledged.map(({ from }) => from)).toEqual(['ireland-1']);
    expect(dependsAfter(world, 'virginia-1', key)).toBe(1);
    world.diskMs.set('oregon-1', 1);
    world.run(100);
    expect(dependsAfter(world, 'virginia-1', key)).toBe(0);
  });

  it("“RVV ≤ VV always holds”: no peer's claim raises RVV above the own version vector (D12)", () => {
    const world = settled();
    const key = keyIn(world, 0);
    without(world, 'ReplicationAck', 'ReplicationComplete');
    const ts = new OperationClient(world, 'virginia-1').put(key, 'X');
    world.run(100);
    const replica = { node: 'oregon-1', machine: 'replica/0' };
    const claim = { type: 'ReplicationComplete', partition: 0, region: 'virginia', upTo: ts + 4096 * 60_000 } as const;
    world.inject(replica, { node: 'ireland-1', machine: 'replica/0' }, claim);
    expect(dependsAfter(world, 'oregon-1', key)).toBe(1);
    world.inject(replica, { node: 'virginia-1', machine: 'replica/0' }, claim);
    expect(dependsAfter(world, 'oregon-1', key)).toBe(0);
    new OperationClient(world, 'virginia-1').put(key, 'Y');
    world.run(100);
    expect(dependsAfter(world, 'oregon-1', key)).toBe(1);
  });

  it('“batch these messages whenever possible”: a burst of updates is acknowledged by few messages, in the frames of replication, and none when nothing is written', () => {
    const world = settled();
    const client = new OperationClient(world, 'virginia-1');
    world.run(100);
    const before = world.sent.length;
    world.run(500);
    const idle = world.sent.slice(before).filter(({ message }) => message.type.startsWith('Replication'));
    expect(idle).toEqual([]);
    for (let i = 0; i < 40; i++) client.put(keyIn(world, 0), `${i}`);
    world.run(100);
    const acks = sentOf(world, 'ReplicationAck').filter(({ from }) => from === 'oregon-1');
    expect(acks.length).toBeGreaterThan(0);
    expect(acks.length).toBeLessThan(20);
    const complete = sentOf(world, 'ReplicationComplete').filter(
      ({ to, partition }) => to === 'oregon-1' && partition === 0,
    );
    const completions = complete.map(({ upTo }) => upTo);
    expect(completions).toEqual([...new Set(completions)].sort((x, y) => x - y));
    expect(completions.at(-1)).toBe(elementsOf(client.session.seen)[0]!.ts);
    for (const frame of world.frames) {
      if (!frame.some(({ message }) => message.type === 'ReplicationAck')) continue;
      expect(frame.some(({ message }) => message.type === 'Heartbeat' || message.type === 'Replicate')).toBe(true);
    }
  });

  it('messages that were lost with a link are sent again (D6)', () => {
    for (const lost of ['ReplicationAck', 'ReplicationComplete'] as const) {
      const world = settled();
      const key = keyIn(world, 0);
      without(world, lost);
      new OperationClient(world, 'virginia-1').put(key, 'X');
      world.run(100);
      world.filter = () => true;
      world.run(100);
      expect(dependsAfter(world, 'oregon-1', key)).toBe(1);
      for (const other of ['oregon-1', 'ireland-1']) {
        world.cut('virginia-1', other);
        world.heal('virginia-1', other);
      }
      world.run(100);
      for (const node of ['virginia-1', 'oregon-1', 'ireland-1']) expect(dependsAfter(world, node, key)).toBe(0);
    }
  });

  it('after a crash clients keep every dependency that is not universally stable again, until it is acknowledged (D7)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    new OperationClient(world, 'virginia-1').put(key, 'X');
    world.run(100);
    expect(dependsAfter(world, 'oregon-1', key)).toBe(0);
    without(world, 'ReplicationAck', 'ReplicationComplete', 'GossipUp', 'GossipRoot', 'GossipDown');
    const ts = new OperationClient(world, 'virginia-1').put(key, 'Y');
    world.run(50);
    world.crash('oregon-1');
    world.restart('oregon-1');
    world.run(50);
    expect(world.ust()).toBeLessThan(ts);
    expect(dependsAfter(world, 'oregon-1', key)).toBe(1);
    world.filter = () => true;
    for (const other of ['virginia-1', 'ireland-1']) {
      world.cut('oregon-1', other);
      world.heal('oregon-1', other);
    }
    world.cut('virginia-1', 'ireland-1');
    world.heal('virginia-1', 'ireland-1');
    world.run(100);
    expect(dependsAfter(world, 'oregon-1', key)).toBe(0);
  });

  it('“dependency checking on replicated updates does not incur network messages” for clients that read everywhere and write here (section 7.6)', () => {
    const world = settled({ spec: replicated(REGIONS, 2) });
    expect(checksOfReaders(world, 5)).toBe(0);
    expect(world.counted('virginia-1', 'cleaned')).toBeGreaterThanOrEqual(15);
  });
});
