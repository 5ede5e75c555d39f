/// <reference types="jest" />
/** The claims of every protocol with dependency matrices (Orbe, section 3): the DM protocol and those based on it. */
import type { Conflict } from '@isochron/protocols/kernel/node-state';
import { elementsOf } from '@isochron/protocols/kernel/operations/dependency-matrix';
import type { OperationProtocol } from '@isochron/protocols/kernel/operations/protocol';
import { joined, loseDisk } from '../world/lost-disks.js';
import { refusal, settledWorld, without } from '../world/operation-fixtures.js';
import { keyIn, OperationClient, type OperationWorld, REGIONS, replicated } from '../world/operation-world.js';
import type { WorldOptions } from '../world/world-of.js';

/** Registers the claims for one protocol. */
export function matrixClaims(protocol: OperationProtocol): void {
  /** Regions of two nodes: partition 0 is at the first, partition 1 at the second. */
  const settled = (options: WorldOptions = {}): OperationWorld =>
    settledWorld(protocol, { spec: replicated(REGIONS, 2), ...options });
  const replicaOf = (world: OperationWorld, node: string, partition: number) =>
    world.node(node).parts.replicas.find((replica) => replica.partition === partition)!;
  const held = (world: OperationWorld, node: string, partition: number): number =>
    replicaOf(world, node, partition).replication.held;
  /** No version sourced by virginia-1 arrives anywhere. */
  const withoutX = (world: OperationWorld) => {
    world.filter = ({ from, message }) =>
      from.node !== 'virginia-1' || !(message.type === 'Replicate' || message.type === 'Heartbeat');
  };
  /** A client in Virginia writes X at partition 0 and then Y at partition 1; X is in transit for long. */
  const written = (options: WorldOptions = {}) => {
    const world = settled(options);
    const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
    withoutX(world);
    const client = new OperationClient(world, 'virginia-1');
    const [tsX, tsY] = [client.put(x, 'X'), client.put(y, 'Y')];
    return { world, x, y, tsX, tsY, client };
  };

  describe('dependency matrices', () => {
    it('an update is installed only after its dependencies: “p applies Y only after X” (Orbe, Fig. 2)', () => {
      const { world, x, y, tsY } = written();
      world.run(60);
      const reader = new OperationClient(world, 'oregon-2');
      expect([reader.get(y), reader.get(x)]).toEqual([null, null]);
      expect(held(world, 'oregon-2', 1)).toBe(1);
      const { vv } = replicaOf(world, 'oregon-2', 1).replication;
      expect(vv.applied('virginia')).toBeLessThan(tsY);
      expect(new OperationClient(world, 'virginia-2').get(y)).toBe('Y');
      world.filter = () => true;
      world.until(() => new OperationClient(world, 'oregon-2').get(y) === 'Y');
      expect(new OperationClient(world, 'oregon-1').get(x)).toBe('X');
      world.run(50);
      expect(held(world, 'oregon-2', 1)).toBe(0);
      expect(vv.applied('virginia')).toBeGreaterThan(tsY);
    });

    it('a dependency on the own partition is checked without a message', () => {
      const world = settled();
      const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 0, 'y')];
      world.filter = ({ from, to, message }) =>
        !(from.node === 'virginia-1' && to.node === 'ireland-1') || message.type !== 'Replicate';
      new OperationClient(world, 'virginia-1').put(x, 'X');
      world.run(30);
      const writer = new OperationClient(world, 'oregon-1');
      expect(writer.get(x)).toBe('X');
      writer.put(y, 'Y');
      world.run(30);
      expect([new OperationClient(world, 'ireland-1').get(y), held(world, 'ireland-1', 0)]).toEqual([null, 1]);
      expect(world.crossed('DepCheckReq')).toBe(0);
      world.filter = () => true;
      world.until(() => new OperationClient(world, 'ireland-1').get(y) === 'Y');
      expect(new OperationClient(world, 'ireland-1').get(x)).toBe('X');
    });

    it('“It needs to send a message to p for dependency checking if dm[j] contains at least one non-zero element” (section 3.2)', () => {
      const world = settled();
      const client = new OperationClient(world, 'virginia-1');
      const before = world.crossed('DepCheckReq');
      client.put(keyIn(world, 0), '0');
      client.put(keyIn(world, 1), '1');
      client.put(keyIn(world, 1), '2');
      world.run(100);
      // One for the second write, in each of two regions: none for the first, and the third depends on its own
      // partition.
      expect(world.crossed('DepCheckReq') - before).toBe(2);
      const total = (counter: string) =>
        world.topology.nodes.reduce((sum, node) => sum + world.counted(node, counter), 0);
      expect([total('dependencyChecks'), total('dependencies'), total('replicated')]).toEqual([2, 4, 6]);
    });

    it('a GET: “DMc[n][rid] ← max(DMc[n][rid], ut)” (section 3.2)', () => {
      const world = settled({ delayMs: () => 1 });
      const keys = [keyIn(world, 0, 'a'), keyIn(world, 0, 'b'), keyIn(world, 3)];
      const client = new OperationClient(world, 'oregon-1');
      // Fresh: no node has confirmed yet that every region has them.
      const stamps = keys.map((key) => new OperationClient(world, 'oregon-1').put(key, 'X'));
      for (const key of [keys[1]!, keys[0]!, keys[2]!]) client.get(key);
      expect(elementsOf(client.session.seen)).toEqual([
        { partition: 0, region: 1, ts: Math.max(stamps[0]!, stamps[1]!) },
        { partition: 3, region: 1, ts: stamps[2] },
      ]);
      expect(client.get(keyIn(world, 2))).toBeNull();
      expect(elementsOf(client.session.seen)).toHaveLength(2);
    });

    it('a PUT: “DMc ← 0 (reset all elements to zero) and DMc[n][rid] ← ut” (section 3.2)', () => {
      const world = settled();
      const client = new OperationClient(world, 'virginia-1');
      client.put(keyIn(world, 0), '0');
      new OperationClient(world, 'virginia-1').put(keyIn(world, 1), '1');
      client.get(keyIn(world, 1));
      expect(elementsOf(client.session.seen)).toHaveLength(2);
      const ts = client.put(keyIn(world, 2), '2');
      expect(elementsOf(client.session.seen)).toEqual([{ partition: 2, region: 0, ts }]);
    });

    it('an effect of an effect waits for its first cause, which its matrix does not name (section 3.2, “transitivity”)', () => {
      const { world, x, y } = written();
      const z = keyIn(world, 3, 'z');
      const reader = new OperationClient(world, 'virginia-2');
      expect(reader.get(y)).toBe('Y');
      reader.put(z, 'Z');
      world.run(60);
      expect(new OperationClient(world, 'oregon-2').get(z)).toBeNull();
      world.filter = () => true;
      world.until(() => new OperationClient(world, 'oregon-2').get(z) === 'Z');
      const last = new OperationClient(world, 'oregon-1');
      expect([last.get(y), last.get(x)]).toEqual(['Y', 'X']);
    });
  });

  describe('conflicts (section 3.4)', () => {
    const conflicts = (world: OperationWorld) => world.topology.nodes.map((node) => world.counted(node, 'conflicts'));

    it('“d and d′ are created concurrently by different replicas, idt ≠ ut: they conflict”, and the application can observe it', () => {
      const reported: Conflict[] = [];
      const world = settled({
        spec: replicated(REGIONS),
        delayMs: () => 20,
        conflict: (conflict) => reported.push(conflict),
      });
      const key = keyIn(world, 0);
      const clients = ['virginia-1', 'oregon-1'].map((node) => new OperationClient(world, node));
      const refs = clients.map(({ node, session }) => world.ask(node, session.put(key, node)));
      world.until(() => refs.every((ref, i) => world.answer(clients[i]!.node, ref) !== undefined));
      world.run(200);
      expect(conflicts(world)).toEqual([1, 1, 1]);
      expect(reported.map(({ key: k }) => k)).toEqual([key, key, key]);
      expect(reported[0]!.update.value).not.toBe(reported[0]!.existing!.value);
    });

    it('“if d is created after d′ is replicated, idt = ut, then d and d′ do not conflict”', () => {
      const world = settled({ spec: replicated(REGIONS), settings: { retentionMs: 50 } });
      const key = keyIn(world, 0);
      for (const [node, value] of [
        ['virginia-1', '1'],
        ['oregon-1', '2'],
        ['oregon-1', null],
        ['ireland-1', '3'],
      ] as const) {
        new OperationClient(world, node).put(key, value);
        world.run(100);
      }
      expect(conflicts(world)).toEqual([0, 0, 0]);
    });

    it('a write after a deletion does not conflict with it, whether or not either region has collected it (P9)', () => {
      const world = settled({ spec: replicated(REGIONS), settings: { retentionMs: 50 } });
      const keys = [keyIn(world, 0, 'a'), keyIn(world, 0, 'b')] as const;
      // From now on Ireland collects half a second after Oregon.
      world.run(1_000 - (world.now % 1_000) + 200);
      world.crash('ireland-1');
      world.restart('ireland-1');
      world.run(2_500);
      const gone = (node: string, key: string) => !world.node(node).store.chains.has(`0|${key}`);
      const client = new OperationClient(world, 'virginia-1');
      const deleted = (key: string, first: string, second: string) => {
        world.until(() => gone(first, key) && !gone(second, key), 20_000);
      };
      const remove = (key: string) => {
        client.put(key, 'x');
        client.put(key, null);
      };
      remove(keys[0]);
      deleted(keys[0], 'oregon-1', 'ireland-1');
      new OperationClient(world, 'oregon-1').put(keys[0], 'again');
      remove(keys[1]);
      deleted(keys[1], 'ireland-1', 'oregon-1');
      new OperationClient(world, 'oregon-1').put(keys[1], 'again');
      world.run(100);
      expect(conflicts(world)).toEqual([0, 0, 0]);
    });
  });

  describe('what waits is safe', () => {
    it('a dependency check is answered when the dependency is on disk: the answer is a promise (D1)', () => {
      const { world, x, y, tsX } = written();
      world.diskMs.set('oregon-1', Number.POSITIVE_INFINITY);
      world.filter = () => true;
      world.until(() => replicaOf(world, 'oregon-1', 0).replication.vv.applied('virginia') >= tsX);
      world.run(50);
      expect(held(world, 'oregon-2', 1)).toBe(1);
      world.crash('oregon-1'); // and X with it
      world.run(50);
      expect(new OperationClient(world, 'oregon-2').get(y)).toBeNull();
      world.diskMs.set('oregon-1', 1);
      world.restart('oregon-1');
      world.until(() => new OperationClient(world, 'oregon-2').get(y) === 'Y');
      expect(new OperationClient(world, 'oregon-2').get(x)).toBe('X');
    });

    it('updates that wait at a node are lost with it, and arrive again (D6, D7)', () => {
      const { world, x, y } = written();
      world.run(60);
      expect(held(world, 'oregon-2', 1)).toBe(1);
      world.crash('oregon-2');
      world.restart('oregon-2');
      world.run(60);
      expect(held(world, 'oregon-2', 1)).toBe(1);
      world.filter = () => true;
      world.until(() => new OperationClient(world, 'oregon-1').get(y) === 'Y');
      expect(new OperationClient(world, 'oregon-1').get(x)).toBe('X');
    });

    it('a link that comes back is asked only for missing updates (D6)', () => {
      const { world, tsY } = written();
      world.run(60);
      const from = world.sent.length;
      world.cut('virginia-2', 'oregon-2');
      world.run(20);
      world.heal('virginia-2', 'oregon-2');
      world.run(20);
      const asked = world.sent
        .slice(from)
        .flatMap(({ from: { node }, message }) =>
          node === 'oregon-2' && message.type === 'ResyncReq' && message.partition === 1 ? [message.from] : [],
        );
      expect(asked).toHaveLength(1);
      expect(asked[0]).toBeGreaterThan(tsY);
      expect(held(world, 'oregon-2', 1)).toBe(1);
    });

    it('a lost dependency check or its lost answer is sent again (D6)', () => {
      const world = settled({ settings: { readTimeoutMs: 300 } });
      without(world, 'DepCheckResp');
      const client = new OperationClient(world, 'virginia-1');
      client.put(keyIn(world, 0), 'X');
      client.put(keyIn(world, 1), 'Y');
      world.run(200);
      expect(held(world, 'oregon-2', 1)).toBe(1);
      world.filter = () => true;
      world.run(500);
      expect(held(world, 'oregon-2', 1)).toBe(0);
    });

    it('a lost dependency check is sent again at once when the link that lost it is back (D6)', () => {
      const world = settled({ settings: { readTimeoutMs: 60_000 } });
      world.cut('oregon-1', 'oregon-2');
      const client = new OperationClient(world, 'virginia-1');
      client.put(keyIn(world, 0), 'X');
      client.put(keyIn(world, 1), 'Y');
      world.run(200);
      expect(held(world, 'oregon-2', 1)).toBe(1);
      world.heal('oregon-1', 'oregon-2');
      world.run(50);
      expect(held(world, 'oregon-2', 1)).toBe(0);
    });

    it('waiting updates are bounded: beyond the bound none is accepted, and they are requested when there is room (D11)', () => {
      const { world, y, client } = written({ settings: { maxPendingBytes: 4_000 } });
      for (let i = 0; i < 60; i++) client.put(y, `${i}`.padStart(50, '0'));
      world.run(500);
      const before = held(world, 'oregon-2', 1);
      expect(before).toBeGreaterThan(5);
      expect(before).toBeLessThan(40);
      world.filter = () => true;
      world.until(() => world.ust() >= elementsOf(client.session.seen)[0]!.ts);
      expect(new OperationClient(world, 'oregon-2').get(y)).toBe('59'.padStart(50, '0'));
      expect(held(world, 'oregon-2', 1)).toBe(0);
    });

    it('a replica that has lost its disk shows nothing before the stable time has passed its loss (D10)', () => {
      const world = settled();
      world.run(200);
      loseDisk(world, 'oregon-1');
      without(world, 'GossipUp', 'GossipRoot', 'GossipDown');
      world.until(joined(world, 'oregon-1'));
      const get = { type: 'GetSliceReq', ref: 2, partition: 0, seen: [], key: keyIn(world, 0) } as const;
      world.inject({ node: 'oregon-1', machine: 'replica/0' }, { node: 'oregon-2', machine: 'coordinator' }, get);
      world.run(300);
      expect(world.crossed('GetSliceResp')).toBe(0);
      world.filter = () => true;
      world.until(() => world.ust() > world.node('oregon-1').parts.membership.incarnation);
      world.run(50);
      expect(world.crossed('GetSliceResp')).toBe(1);
    });

    it('updates that others have and this region cannot have yet are not copied, but wait at the gate again (D10)', () => {
      const { world, y, tsY } = written();
      world.filter = ({ from, to, message }) =>
        !(from.node === 'virginia-1' && to.node === 'oregon-1') ||
        !(message.type === 'Replicate' || message.type === 'Heartbeat');
      world.until(() => new OperationClient(world, 'ireland-2').get(y) === 'Y');
      loseDisk(world, 'oregon-2');
      world.until(joined(world, 'oregon-2'));
      world.run(1_500);
      expect(held(world, 'oregon-2', 1)).toBe(1);
      expect(world.node('oregon-2').store.chains.has(`1|${y}`)).toBe(false);
      const before = world.crossed('DepCheckResp');
      const asker = { node: 'oregon-1', machine: 'replica/0' };
      const check = { type: 'DepCheckReq', ref: 1, partition: 1, needs: [0, tsY] } as const;
      world.inject({ node: 'oregon-2', machine: 'replica/1' }, asker, check);
      world.run(100);
      expect(world.crossed('DepCheckResp')).toBe(before);
      world.filter = () => true;
      world.until(() => world.ust() > world.node('oregon-2').parts.membership.incarnation);
      expect(new OperationClient(world, 'oregon-2').rot(y)).toEqual(['Y']);
    });

    it('updates that wait for a replica that has lost its disk go on when the replica has its data again (D10)', () => {
      const { world, x, y } = written();
      world.run(60);
      loseDisk(world, 'oregon-1');
      world.filter = () => true;
      world.until(joined(world, 'oregon-1'));
      world.until(() => world.ust() > world.node('oregon-1').parts.membership.incarnation);
      expect(new OperationClient(world, 'oregon-2').rot(y, x)).toEqual(['Y', 'X']);
    });

    it('waiting updates of a source that has lost its disk are given up: either no region has them, or every region (D10)', () => {
      const { world, x, y } = written();
      world.run(60);
      expect([held(world, 'oregon-2', 1), held(world, 'ireland-2', 1)]).toEqual([1, 1]);
      loseDisk(world, 'virginia-2');
      world.until(joined(world, 'virginia-2'));
      world.filter = () => true;
      world.until(() => world.ust() > world.node('virginia-2').parts.membership.incarnation);
      world.run(100);
      const shown = (key: string) => world.topology.nodes.map((node) => new OperationClient(world, node).get(key));
      expect(new Set(shown(y)).size).toBe(1);
      expect(new Set(shown(x))).toEqual(new Set(['X']));
      new OperationClient(world, 'virginia-2').put(y, 'Y2');
      world.run(200);
      expect(new Set(shown(y))).toEqual(new Set(['Y2']));
    });

    it('dependency checks and answers that are invalid change nothing (D12)', () => {
      const { world, y } = written();
      world.run(60);
      const replica = { node: 'oregon-2', machine: 'replica/1' };
      const stranger = { node: 'ireland-2', machine: 'replica/1' };
      for (const needs of [[7, 1], [0], [0, 1, 2]]) {
        world.inject(replica, stranger, { type: 'DepCheckReq', ref: 1, partition: 1, needs });
      }
      const { last } = world.node('oregon-2').parts.clock;
      for (let ref = last - 50; ref < last + 50; ref++) world.inject(replica, stranger, { type: 'DepCheckResp', ref });
      world.inject(replica, stranger, {
        type: 'AdmitUpdates',
        source: 'virginia',
        upTo: Number.MAX_SAFE_INTEGER,
        keys: [],
      });
      world.run(50);
      expect(world.crossed('DepCheckResp')).toBe(0);
      expect(new OperationClient(world, 'oregon-2').get(y)).toBeNull();
    });

    it('a matrix that no session can have is refused (D12)', () => {
      const world = settled();
      const request = new OperationClient(world, 'virginia-1').session.get(keyIn(world, 0));
      for (const seen of [
        [0, 0],
        [6, 0, 1],
        [0, 3, 1],
        [1, 0, 1, 0, 0, 1],
        [0, 1, 1, 0, 1, 1],
      ]) {
        expect(refusal(world, 'virginia-1', { ...request, seen })).toBe('INVALID_REQUEST');
      }
    });
  });
}

/**
 * A client reads all partitions and writes to one, several times: the number of dependency checks in other regions for
 * that (Orbe, section 7.6).
 */
export function checksOfReaders(world: OperationWorld, rounds: number): number {
  const keys = [0, 1, 2, 3, 4, 5].map((partition) => keyIn(world, partition));
  for (const key of keys) new OperationClient(world, 'virginia-1').put(key, '0');
  world.run(200);
  const before = world.crossed('DepCheckReq');
  const client = new OperationClient(world, 'virginia-1');
  for (let round = 0; round < rounds; round++) {
    for (const key of keys) client.get(key);
    client.put(keys[0]!, `${round}`);
    world.run(50);
  }
  return world.crossed('DepCheckReq') - before;
}
