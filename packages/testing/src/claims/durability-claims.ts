/// <reference types="jest" />
/** The claims of every protocol of single operations about durability. */
import type { OperationProtocol } from '@isochron/protocols/kernel/operations/protocol';
import { joined, loseDisk } from '../world/lost-disks.js';
import { everywhere, NODES, refusal, settledWorld, without } from '../world/operation-fixtures.js';
import { keyIn, OperationClient, type OperationWorld, REGIONS, replicated } from '../world/operation-world.js';
import type { WorldOptions } from '../world/world-of.js';

/** Registers the claims for one protocol. */
export function durabilityClaims(protocol: OperationProtocol): void {
  const settled = (options: WorldOptions = {}): OperationWorld => settledWorld(protocol, options);

  describe('what is kept', () => {
    it('a PUT is not answered before its version is on disk (D1)', () => {
      const world = settled();
      const client = new OperationClient(world, 'virginia-1');
      world.diskMs.set('virginia-1', Number.POSITIVE_INFINITY);
      const ref = world.ask('virginia-1', client.session.put(keyIn(world, 0), '1'));
      world.run(500);
      expect(world.answer('virginia-1', ref)).toBeUndefined();
      world.diskMs.set('virginia-1', 1);
      world.run(50);
      expect(world.answer('virginia-1', ref)?.type).toBe('PutResp');
    });

    it('an answer that shows a version waits until the version is on disk (D1)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const [writer, reader] = [new OperationClient(world, 'virginia-1'), new OperationClient(world, 'virginia-1')];
      world.diskMs.set('virginia-1', Number.POSITIVE_INFINITY);
      const put = world.ask('virginia-1', writer.session.put(key, '1'));
      world.run(2);
      const get = world.ask('virginia-1', reader.session.get(key));
      world.run(100);
      expect(world.answer('virginia-1', get)).toBeUndefined();
      expect(world.counted('virginia-1', 'heldAnswers')).toBe(1);
      world.diskMs.set('virginia-1', 1);
      world.run(50);
      expect(world.answer('virginia-1', put)?.type).toBe('PutResp');
      expect(world.answer('virginia-1', get)).toMatchObject({ type: 'GetResp', version: { value: '1' } });
    });

    it('no Replicate leaves before the versions in it are on disk (D1)', () => {
      const world = settled();
      const client = new OperationClient(world, 'virginia-1');
      world.diskMs.set('virginia-1', Number.POSITIVE_INFINITY);
      world.ask('virginia-1', client.session.put(keyIn(world, 0), '1'));
      world.run(300);
      expect(world.crossed('Replicate')).toBe(0);
      world.diskMs.set('virginia-1', 1);
      world.run(50);
      expect(world.crossed('Replicate')).toBe(2);
    });

    it('a PUT that was not acknowledged may be lost with the process, and no client has seen it (D1)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const client = new OperationClient(world, 'virginia-1');
      world.diskMs.set('virginia-1', Number.POSITIVE_INFINITY);
      world.ask('virginia-1', client.session.put(key, '1'));
      world.run(100);
      world.crash('virginia-1');
      world.diskMs.set('virginia-1', 1);
      world.restart('virginia-1');
      world.run(2_500);
      expect(everywhere(world, key)).toEqual([null, null, null]);
    });

    it('acknowledged PUTs survive the crash of every node (D7)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      new OperationClient(world, 'virginia-1').put(key, '1');
      for (const node of NODES) world.crash(node);
      for (const node of NODES) world.restart(node);
      world.run(500);
      expect(everywhere(world, key)).toEqual(['1', '1', '1']);
    });

    it('after a crash the clock is above everything that was published, although the machine’s clock went back (D7)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const before = new OperationClient(world, 'virginia-1').put(key, '1');
      world.run(100);
      const { vv } = world.node('virginia-1').parts.replicas[0]!.replication;
      const published = vv.applied('virginia');
      world.node('virginia-1').skewMs = -3_000;
      world.crash('virginia-1');
      world.restart('virginia-1');
      const after = new OperationClient(world, 'virginia-1').put(key, '2');
      expect(after).toBeGreaterThan(Math.max(before, published));
      world.until(() => world.ust() >= after);
      expect(everywhere(world, key)).toEqual(['2', '2', '2']);
    });

    it("a replica of a lost disk comes back with its peers' data, its own last versions too (D10)", () => {
      const world = settled();
      const keys = [0, 1, 2].map((partition) => keyIn(world, partition));
      const client = new OperationClient(world, 'virginia-1');
      for (const key of keys) client.put(key, key);
      world.run(50);
      without(world, 'GossipUp', 'GossipRoot', 'GossipDown');
      const last = client.put(keys[0]!, 'last');
      world.run(30);
      loseDisk(world, 'virginia-1');
      world.filter = () => true;
      world.until(joined(world, 'virginia-1'));
      world.until(() => world.ust() > Math.max(last, world.node('virginia-1').parts.membership.incarnation));
      const reader = new OperationClient(world, 'virginia-1');
      expect(keys.map((key) => reader.get(key))).toEqual(['last', keys[1], keys[2]]);
      expect(reader.rot(...keys)).toEqual(['last', keys[1], keys[2]]);
    });

    it('a lost disk comes back although a stable time that still counts it has passed the copied versions (D10)', () => {
      // Messages of virginia's root take long: they arrive after its other node has lost its disk and has asked
      // every node.
      const delayMs = (from: string, to: string) => (from === 'virginia-1' && !to.startsWith('virginia') ? 300 : 1);
      const world = settled({ spec: replicated(REGIONS, 2, 2), delayMs });
      world.run(2_000);
      const key = keyIn(world, 1);
      const written = new OperationClient(world, 'ireland-2').put(key, '1');
      world.run(60);
      loseDisk(world, 'virginia-2');
      without(world, 'CopyReq');
      world.until(() => world.node('virginia-2').parts.rebuild.describe().remaining !== null, 20);
      expect(world.ust()).toBeLessThan(written);
      world.until(() => world.node('ireland-2').parts.stable.aggregated >= written, 600);
      world.run(200);
      world.filter = () => true;
      world.until(() => world.ust() > Math.max(written, world.node('virginia-2').parts.membership.incarnation));
      expect(new OperationClient(world, 'virginia-2').get(key)).toBe('1');
    });

    it('a replica without its data answers no request (D10)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      new OperationClient(world, 'virginia-1').put(key, '1');
      without(world, 'JoinResp');
      loseDisk(world, 'virginia-1');
      world.run(100);
      const client = new OperationClient(world, 'virginia-1');
      expect(refusal(world, 'virginia-1', client.session.get(key))).toBe('NOT_READY');
    });

    it('a node that has lost its disk serves no request before the stable time has passed its loss (D10)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      new OperationClient(world, 'virginia-1').put(key, '1');
      world.run(200);
      loseDisk(world, 'virginia-1');
      without(world, 'GossipUp', 'GossipRoot', 'GossipDown');
      world.until(joined(world, 'virginia-1'));
      world.run(100);
      const client = new OperationClient(world, 'virginia-1');
      expect(refusal(world, 'virginia-1', client.session.get(key))).toBe('NOT_READY');
      world.filter = () => true;
      world.until(() => world.ust() > world.node('virginia-1').parts.membership.incarnation);
      client.session.refused();
      expect(client.get(key)).toBe('1');
    });

    it('after a start a replica shows and decides nothing until its peers have reported on its disk, within a bound (D10)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const client = new OperationClient(world, 'virginia-1');
      client.put(key, '1');
      world.run(100);
      world.crash('virginia-1');
      world.cut('virginia-1', 'ireland-1');
      world.restart('virginia-1');
      const { replication } = world.node('virginia-1').parts.replicas[0]!;
      const clock = replication.versionClock;
      const get = world.ask('virginia-1', client.session.get(key));
      const settle = {
        type: 'SettleReq' as const,
        ref: 7,
        partition: 0,
        txId: 'x',
        attempt: 0,
        sentAfter: world.ust(),
      };
      const coordinator = { node: 'oregon-1', machine: 'coordinator' };
      world.run(10);
      world.inject({ node: 'virginia-1', machine: 'replica/0' }, coordinator, settle);
      world.run(1_500);
      expect(world.answer('virginia-1', get)).toBeUndefined();
      expect(world.crossed('SettleResp')).toBe(0);
      expect(replication.versionClock).toBe(clock);
      world.run(1_000);
      expect(world.answer('virginia-1', get)).toMatchObject({ type: 'GetResp', version: { value: '1' } });
      expect(replication.versionClock).toBeGreaterThan(clock);
    });

    if (protocol.rots !== false) {
      it('a read-only transaction under way holds garbage collection back (P9)', () => {
        const world = settled({ spec: replicated(REGIONS, 2) });
        const client = new OperationClient(world, 'virginia-1');
        const { coordinator, stable } = world.node('virginia-1').parts;
        world.filter = ({ message }) => message.type !== 'RotSliceReq' && message.type !== 'SnapReq';
        const before = stable.value;
        const ref = world.ask('virginia-1', client.session.rot([1, 3].map((partition) => keyIn(world, partition))));
        world.run(500);
        expect(stable.value).toBeGreaterThan(before + 300 * 4096);
        expect(coordinator.sOld).toBe(before);
        world.filter = () => true;
        world.until(() => world.answer('virginia-1', ref) !== undefined);
        expect(coordinator.sOld).toBe(stable.value);
      });
    }

    it('a peer’s stream that lost a frame is requested again (D6)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      without(world, 'Replicate', 'Heartbeat');
      const ts = new OperationClient(world, 'virginia-1').put(key, '1');
      world.run(50);
      world.filter = () => true;
      world.until(() => world.ust() >= ts);
      expect(everywhere(world, key)).toEqual(['1', '1', '1']);
      expect(world.counted('oregon-1', 'gaps')).toBeGreaterThan(0);
    });

    it('old versions and log entries are collected when every region has the newer ones, and reads do not change (P9)', () => {
      const world = settled({ settings: { retentionMs: 100 } });
      const key = keyIn(world, 0);
      const client = new OperationClient(world, 'virginia-1');
      for (let i = 0; i < 10; i++) client.put(key, String(i));
      const { store } = world.node('oregon-1');
      const chain = () => store.chains.get(`0|${key}`) ?? [];
      world.until(() => chain().length === 1 && chain()[0]!.value === '9');
      expect(everywhere(world, key)).toEqual(['9', '9', '9']);
      world.until(() => world.node('virginia-1').store.logs.get(0)?.length === 0);
    });

    it('a tombstone is a version like others, is collected last, and no older version comes back after it (P9)', () => {
      const world = settled({ settings: { retentionMs: 100 } });
      const key = keyIn(world, 0);
      const client = new OperationClient(world, 'virginia-1');
      client.put(key, '1');
      client.put(key, null);
      expect(client.get(key)).toBeNull();
      world.until(() => NODES.every((node) => !world.node(node).store.chains.has(`0|${key}`)));
      for (const node of NODES) world.crash(node);
      for (const node of NODES) world.restart(node);
      world.run(500);
      expect(everywhere(world, key)).toEqual([null, null, null]);
    });

    it('of writes of the same key at the same time the last one wins, the same in every region', () => {
      const world = settled({ delayMs: () => 30 });
      const key = keyIn(world, 0);
      const clients = NODES.map((node) => new OperationClient(world, node));
      const refs = clients.map(({ session, node }) => world.ask(node, session.put(key, node)));
      world.run(400);
      const stamps = refs.map((ref, i) => (world.answer(NODES[i]!, ref) as { ts: number }).ts);
      expect(stamps).toHaveLength(3);
      expect(new Set(everywhere(world, key)).size).toBe(1);
      const shown = everywhere(world, key)[0] as string;
      expect(stamps[NODES.indexOf(shown)]).toBe(Math.max(...stamps));
    });
  });
}
