/// <reference types="jest" />
/** The common claims of protocols whose snapshots are vectors, as tests. */
import { IsochronError, type Timestamp } from '@isochron/core';
import type { TransactionMessage } from '@isochron/protocols/kernel/transactions/messages';
import { Session, type SessionRules } from '@isochron/protocols/kernel/transactions/session';
import type { TransactionProtocol } from '@isochron/protocols/kernel/transactions/snapshots';
import type { Address } from '@isochron/protocols/machine';
import { blockingIn } from '../world/blocking.js';
import { keyIn, TestClient } from '../world/clients.js';
import { backup } from '../world/lost-disks.js';
import { THREE_REGIONS, World, type WorldOptions } from '../world/world.js';
import { FULLY_REPLICATED } from './transaction-claims.js';

/** One region: coordinators at any of its four nodes, a partition on each. */
export const ONE_REGION = {
  regions: [{ id: 'virginia', nodes: [1, 2, 3, 4].map((i) => ({ id: `virginia-${i}` })) }],
  keyspaces: [{ name: 'default', partitions: 4, replication: 1 }],
};

/** Positions in the vectors. */
const [VIRGINIA, OREGON, IRELAND] = [0, 1, 2];

/** Registers the claims for one protocol. */
export function vectorClaims(protocol: TransactionProtocol, session: SessionRules): void {
  const settled = (options: WorldOptions = {}): World => {
    const world = new World({ protocol, session, spec: FULLY_REPLICATED, ...options });
    world.run(200);
    return world;
  };
  const replicaOf = (world: World, node: string, partition: number) =>
    world.node(node).parts.replicas.find((replica) => replica.partition === partition)!;
  const read = (at: Timestamp, deps: Timestamp[] | undefined, key: string) =>
    ({ type: 'ReadReq', txId: null, ust: 0, at, deps, keys: [key] }) as const;

  describe('snapshots and dependencies are vectors', () => {
    it('the remote entries of a snapshot are what all partitions of the region have installed (GSS)', () => {
      const world = settled({ delayMs: (a, b) => (a === 'ireland-1' || b === 'ireland-1' ? 60 : 5) });
      const tx = new TestClient(world, 'virginia-1').begin();
      const { parts } = world.node('virginia-1');
      const installed = (region: string) =>
        Math.min(...parts.replicas.map(({ replication }) => replication.vv.durable(region)));
      expect(tx.read.deps).toHaveLength(3);
      for (const [i, region] of [[OREGON, 'oregon'] as const, [IRELAND, 'ireland'] as const]) {
        expect(tx.read.deps![i]).toBe(parts.coordinator.state.regional.entries[i!]);
        expect(tx.read.deps![i]).toBeLessThanOrEqual(installed(region));
      }
      expect(tx.read.deps![OREGON]! - tx.read.deps![IRELAND]!).toBeGreaterThan(40 * 4096);
      expect(tx.snapshot).toBe(Math.max(...tx.read.deps!));
      // Installed means on the disk.
      world.diskMs.set('virginia-1', 25);
      const writer = new TestClient(world, 'oregon-1');
      for (let i = 0; i < 200; i++) {
        if (i % 10 === 0) writer.write({ [keyIn(world, i % 6)]: String(i) });
        world.run(1);
        expect(new TestClient(world, 'virginia-1').begin().read.deps![OREGON]).toBeLessThanOrEqual(installed('oregon'));
      }
    });

    it('a version depends on the snapshot of its transaction, with the commit timestamp in the entry of its region', () => {
      const world = settled();
      const client = new TestClient(world, 'oregon-1');
      const tx = client.begin();
      const key = keyIn(world, 2);
      tx.write(key, '1');
      const ct = client.commit(tx);
      const expected = tx.read.deps!.map((ts, i) => (i === OREGON ? ct : ts));
      expect(ct).toBeGreaterThan(Math.max(...tx.read.deps!));
      expect(client.session.seen.deps).toEqual(expected);
      world.run(100);
      for (const { store } of world.nodes.values()) expect(store.chains.get(`2|${key}`)![0]!.deps).toEqual(expected);
    });

    it('a version is visible when its vector is below that of the snapshot in every entry, whichever region wrote it', () => {
      // Ireland's writes reach oregon soon, and oregon's virginia; ireland's reach virginia only after a long time.
      const world = settled({ delayMs: (a, b) => (a === 'ireland-1' && b === 'virginia-1' ? 300 : 2) });
      world.run(400);
      const [cause, effect] = [keyIn(world, 0, 'cause'), keyIn(world, 1, 'effect')];
      new TestClient(world, 'ireland-1').write({ [cause]: 'cause' });
      const middle = new TestClient(world, 'oregon-1');
      world.until(() => middle.readOnce(cause)[0] === 'cause');
      middle.write({ [effect]: 'effect' });
      world.until(() => world.node('virginia-1').store.chains.has(`1|${effect}`));
      expect(world.node('virginia-1').store.chains.has(`0|${cause}`)).toBe(false);
      const reader = new TestClient(world, 'virginia-1');
      const seen: unknown[] = [];
      for (let i = 0; i < 400; i++) {
        seen.push(reader.readOnce(effect, cause));
        world.run(1);
      }
      expect(seen[0]).toEqual([null, null]);
      expect(seen).not.toContainEqual(['effect', null]);
      expect(seen.at(-1)).toEqual(['effect', 'cause']);
    });

    it('local updates become visible immediately', () => {
      const world = settled();
      for (const other of ['oregon-1', 'ireland-1']) world.cut('virginia-1', other);
      const key = keyIn(world, 0);
      const { ct } = new TestClient(world, 'virginia-1').write({ [key]: '1' });
      const reader = new TestClient(world, 'virginia-1');
      world.run(1);
      expect(reader.readOnce(key)).toEqual(['1']);
      expect(world.ust()).toBeLessThan(ct);
    });

    it('a remote update becomes visible when the region has it, whatever others have', () => {
      const world = settled();
      for (const other of ['virginia-1', 'oregon-1']) world.cut('ireland-1', other);
      const key = keyIn(world, 0);
      const { ct } = new TestClient(world, 'virginia-1').write({ [key]: '1' });
      world.run(100);
      expect(new TestClient(world, 'oregon-1').readOnce(key)).toEqual(['1']);
      expect(world.ust()).toBeLessThan(ct);
    });

    it('a snapshot is never taken for a stable time', () => {
      const world = settled({ delayMs: () => 40 });
      const client = new TestClient(world, 'virginia-1');
      client.write({ [keyIn(world, 0)]: '1', [keyIn(world, 1)]: '1' });
      client.readOnce(keyIn(world, 0));
      for (const { parts } of world.nodes.values()) {
        expect(parts.stable.value).toBe(parts.stable.aggregated);
        expect(parts.stable.refused).toBe(0);
      }
    });

    it('the lowest entry of an open snapshot holds garbage collection back', () => {
      const world = settled({ settings: { retentionMs: 0 } });
      const client = new TestClient(world, 'virginia-1');
      const tx = client.begin();
      for (let i = 0; i < 3; i++) {
        new TestClient(world, 'oregon-1').write({ [keyIn(world, 0)]: String(i) });
        world.run(1_500);
      }
      const lowest = Math.min(...tx.read.deps!);
      expect(lowest).toBeLessThan(tx.snapshot!);
      for (const { parts } of world.nodes.values()) {
        expect(parts.stable.sOld).toBeLessThanOrEqual(lowest);
        expect(parts.stable.gcFloor).toBeLessThanOrEqual(lowest);
      }
      expect(world.ust()).toBeGreaterThan(lowest);
    });

    it('a client names a snapshot by its entries, or by a timestamp that stands for all of them', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const writer = new TestClient(world, 'oregon-1');
      const { ct } = writer.write({ [key]: '1' });
      world.until(() => world.ust() >= ct);
      const vector = [...writer.session.seen.deps!];
      const before = [...vector];
      before[OREGON] = ct - 1;
      const value = (at: Timestamp, deps?: Timestamp[]) =>
        world.call('virginia-1', read(at, deps, key), 'ReadResp').versions[0]?.value;
      expect([value(ct, vector), value(ct, before), value(ct), value(ct - 1)]).toEqual([
        '1',
        undefined,
        '1',
        undefined,
      ]);
      const ahead = [...vector];
      ahead[VIRGINIA] = world.node('virginia-1').parts.clock.last + 60_000 * 4096;
      expect(world.call('virginia-1', read(ct, ahead, key))).toMatchObject({ code: 'SNAPSHOT_UNAVAILABLE' });
    });

    it("a client's vector with an entry beyond half of the drift limit is refused, whatever its timestamp is (T1)", () => {
      const world = settled();
      const key = keyIn(world, 0);
      const future = world.node('virginia-1').parts.clock.last + world.settings.maxClockDriftMs * 4096;
      const refused = { type: 'Refused', code: 'TIMESTAMP_IN_FUTURE' };
      expect(world.call('virginia-1', read(1, [1, 1, future], key))).toMatchObject(refused);
      const writes = [{ key, value: '1' }];
      const ids = {
        txId: 'future-vector-0001.0',
        hwt: 0,
        sentAfter: 0,
        attemptRegions: ['virginia'],
        principal: 'anonymous',
      };
      const commit = { type: 'CommitReq', ...ids, snapshot: 1, deps: [1, 1, future], writes } as const;
      expect(world.call('virginia-1', commit)).toMatchObject(refused);
    });

    it('a snapshot with another number of entries is refused, by coordinators and by replicas (D12)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const refused = { type: 'Refused', code: 'INVALID_REQUEST' };
      expect(world.call('virginia-1', read(1, [1, 2], key))).toMatchObject(refused);
      const writes = [{ key, value: '1' }];
      const ids = {
        txId: 'short-vector-0001.0',
        hwt: 0,
        sentAfter: 0,
        attemptRegions: ['virginia'],
        principal: 'anonymous',
      };
      const commit = { type: 'CommitReq', ...ids, snapshot: 1, deps: [1], writes } as const;
      expect(world.call('virginia-1', commit)).toMatchObject(refused);
      const from: Address = { node: 'oregon-1', machine: 'coordinator' };
      const slice = { type: 'ReadSliceReq', ref: 4711, partition: 0, snapshot: 1, keys: [key], deps: [1, 2, 3, 4] };
      world.inject({ node: 'virginia-1', machine: 'replica/0' }, from, slice as TransactionMessage);
      world.run(50);
      expect(world.sent.find(({ message }) => 'ref' in message && message.ref === 4711)?.message).toMatchObject(
        refused,
      );
    });
  });

  describe('reads that wait', () => {
    it('px has to block the read because it cannot determine which version of x to return: T2 is prepared (Wren Fig. 1a)', () => {
      const world = settled({ spec: ONE_REGION });
      const keys = [keyIn(world, 0), keyIn(world, 1)];
      world.filter = ({ message, to }) => !(message.type === 'CommitTx' && to.node === 'virginia-1');
      const writer = new TestClient(world, 'virginia-4');
      const { ct } = writer.write({ [keys[0]!]: 'X2', [keys[1]!]: 'Y2' });
      world.run(30);
      const reader = new TestClient(world, 'virginia-3');
      const tx = reader.begin();
      expect(tx.read.deps![VIRGINIA]).toBeGreaterThan(ct);
      expect(reader.read(tx, keys[1]!)).toEqual(['Y2']);
      expect(blockingIn(world).reads).toBe(0);
      const since = world.now;
      expect(reader.read(tx, keys[0]!)).toEqual(['X2']);
      // Until the cohorts have resolved it (D2).
      expect(world.now - since).toBeGreaterThan(1_000);
      expect(blockingIn(world)).toMatchObject({ reads: 1 });
      expect(blockingIn(world).ms).toBeGreaterThan(1_000);
    });

    it('a read does not wait for a transaction that is prepared above the snapshot', () => {
      const world = settled({ spec: ONE_REGION });
      const keys = [keyIn(world, 0), keyIn(world, 1)];
      const reader = new TestClient(world, 'virginia-3');
      const tx = reader.begin();
      world.run(5);
      world.filter = ({ message, to }) => !(message.type === 'CommitTx' && to.node === 'virginia-1');
      new TestClient(world, 'virginia-4').write({ [keys[0]!]: 'X2', [keys[1]!]: 'Y2' });
      world.run(30);
      expect(reader.read(tx, ...keys)).toEqual([null, null]);
      expect(blockingIn(world)).toEqual({ reads: 0, ms: 0 });
    });

    it('a read waits for a transaction that is committed and not applied, and for one whose versions are not on the disk yet', () => {
      const world = settled({ spec: ONE_REGION, settings: { applyIntervalMs: 100, gossipIntervalMs: 100 } });
      world.diskMs.set('virginia-1', 30);
      const key = keyIn(world, 0);
      new TestClient(world, 'virginia-1').write({ [key]: '1' });
      const reader = new TestClient(world, 'virginia-1');
      world.run(1);
      const tx = reader.begin();
      const { cohort, replication } = replicaOf(world, 'virginia-1', 0);
      expect(cohort.slices.committed.size).toBe(1);
      const ref = world.ask('virginia-1', { type: 'ReadReq', txId: tx.id, ust: 0, at: null, keys: [key] });
      world.until(() => cohort.slices.committed.size === 0);
      expect(replication.undurable).toBeDefined();
      expect(world.answer('virginia-1', ref)).toBeUndefined();
      world.until(() => replication.undurable === undefined);
      world.run(1);
      expect(world.answer('virginia-1', ref)).toMatchObject({ type: 'ReadResp', versions: [{ value: '1' }] });
    });

    it('a read waits for what the client has seen in another region, and the region has installed that then', () => {
      const world = settled({ delayMs: () => 60 });
      const key = keyIn(world, 0);
      const client = new TestClient(world, 'virginia-1');
      const { ct } = client.write({ [key]: '1' });
      client.node = 'oregon-1';
      const since = world.now;
      expect(client.readOnce(key)).toEqual(['1']);
      expect(world.now - since).toBeGreaterThanOrEqual(60);
      expect(world.now - since).toBeLessThanOrEqual(60 + 30);
      expect(blockingIn(world).ms).toBeGreaterThanOrEqual(60);
      expect(replicaOf(world, 'oregon-1', 0).replication.vv.durable('virginia')).toBeGreaterThanOrEqual(ct);
    });

    it('a read whose snapshot does not come is refused with SNAPSHOT_UNAVAILABLE, within its deadline', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const client = new TestClient(world, 'virginia-1');
      world.cut('virginia-1', 'oregon-1');
      client.write({ [key]: '1' });
      client.node = 'oregon-1';
      const tx = client.begin();
      const request = { type: 'ReadReq', txId: tx.id, ust: 0, at: null, keys: [key] } as const;
      const since = world.now;
      expect(world.call('oregon-1', request)).toMatchObject({ type: 'Refused', code: 'SNAPSHOT_UNAVAILABLE' });
      expect(world.now - since).toBeLessThanOrEqual(world.settings.readDeadlineMs + 100);
      // A client that has not been in the other region is served as before.
      expect(new TestClient(world, 'oregon-1').readOnce(key)).toEqual([null]);
      world.heal('virginia-1', 'oregon-1');
      expect(client.read(tx, key)).toEqual(['1']);
    });
  });

  describe('restarts, retries and placements', () => {
    it('reads stay true: after a crash nothing is committed below an answered snapshot, even when the clock went back (D7)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const reader = new TestClient(world, 'virginia-1');
      const tx = reader.begin();
      expect(reader.read(tx, key)).toEqual([null]);
      world.crash('virginia-1');
      world.node('virginia-1').skewMs = -60_000;
      world.restart('virginia-1');
      world.run(100);
      const { ct } = new TestClient(world, 'virginia-1').write({ [key]: '1' });
      expect(ct).toBeGreaterThan(tx.read.deps![VIRGINIA]!);
    });

    it('a restarted node has no times of its region yet, and no snapshot goes back or below the stable time', () => {
      const regions = THREE_REGIONS.regions.map(({ id }) => ({ id, nodes: [{ id: `${id}-1` }, { id: `${id}-2` }] }));
      const world = settled({ spec: { ...FULLY_REPLICATED, regions } });
      const client = new TestClient(world, 'virginia-1');
      client.write({ [keyIn(world, 0)]: '1' });
      world.run(200);
      const before = client.begin();
      world.crash('virginia-1');
      world.restart('virginia-1');
      const { parts } = world.node('virginia-1');
      expect(parts.coordinator.state.regional.entries).toEqual([0, 0, 0]);
      const fresh = new TestClient(world, 'virginia-1').begin();
      expect(parts.stable.value).toBeGreaterThan(0);
      expect(Math.min(...fresh.read.deps!)).toBeGreaterThanOrEqual(parts.stable.value);
      client.begin().read.deps!.forEach((ts, i) => {
        expect(ts).toBeGreaterThanOrEqual(before.read.deps![i]!);
      });
    });

    it('a response to a read of a previous incarnation is ignored, also where the coordinator holds no replica (P10)', () => {
      const regions = [
        { id: 'virginia', nodes: [{ id: 'virginia-1' }, { id: 'virginia-2' }] },
        { id: 'oregon', nodes: [{ id: 'oregon-1' }] },
      ];
      const world = settled({ spec: { regions, keyspaces: [{ name: 'default', partitions: 1, replication: 2 }] } });
      expect(world.topology.partitionsOn('virginia-2')).toEqual([]);
      const references = () =>
        world.sent.flatMap(({ from, message }) =>
          from.node === 'virginia-2' && message.type === 'ReadSliceReq' ? [message.ref] : [],
        );
      // The stable time stands still on its disk.
      for (const node of ['virginia-1', 'virginia-2']) world.cut(node, 'oregon-1');
      world.run(300);
      let highest = 0;
      for (let incarnation = 0; incarnation < 3; incarnation++) {
        for (let i = 0; i < 3; i++) new TestClient(world, 'virginia-2').readOnce(keyIn(world, 0));
        expect(Math.min(...references())).toBeGreaterThan(highest);
        highest = Math.max(...references());
        world.sent.length = 0;
        world.crash('virginia-2');
        world.restart('virginia-2');
        world.run(100);
      }
    });

    it('a replica answers nothing while a peer may still report that its disk is an old one (D10)', () => {
      const world = settled({ delayMs: () => 40 });
      const key = keyIn(world, 0);
      const client = new TestClient(world, 'virginia-1');
      client.write({ [key]: 'old' });
      world.run(200);
      const old = backup(world.node('virginia-1').store);
      client.write({ [key]: 'new' });
      world.run(200);
      world.crash('virginia-1');
      world.restart('virginia-1', old);
      const ref = world.ask('virginia-1', { type: 'ReadReq', txId: null, ust: 0, at: null, keys: [key] });
      expect(() => world.run(5_000)).toThrow(expect.objectContaining({ code: 'REBUILD_NEEDED' }));
      expect(world.answer('virginia-1', ref)).toBeUndefined();
    });

    it('the response to a commit that is sent again through another region names the region in which it was made', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const client = new TestClient(world, 'virginia-1');
      const tx = client.begin();
      tx.write(key, '1');
      const request = client.commitRequest(tx);
      const detached = { ...request, snapshot: tx.snapshot! };
      const first = world.call('virginia-1', request, 'CommitResp');
      const again = world.call('oregon-1', detached, 'CommitResp');
      expect(again.ct).toBe(first.ct);
      expect(again.deps).toEqual(first.deps);
      expect(again.deps![VIRGINIA]).toBe(first.ct);
    });

    it('a coordinator whose commit was decided in another attempt than its own responds with the timestamp alone', () => {
      const world = settled();
      const client = new TestClient(world, 'virginia-1');
      const tx = client.begin();
      tx.write(keyIn(world, 0), '1');
      const request = { ...client.commitRequest(tx), snapshot: tx.snapshot! };
      const second = world.call('virginia-1', { ...request, attemptRegions: ['virginia', 'virginia'] }, 'CommitResp');
      const first = world.call('oregon-1', { ...request, attemptRegions: ['virginia'] }, 'CommitResp');
      expect(second.deps![VIRGINIA]).toBe(second.ct);
      expect(first).toMatchObject({ ct: second.ct, deps: undefined });
    });

    it('a second attempt is stamped with its own home', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const client = new TestClient(world, 'virginia-1');
      const tx = client.begin();
      tx.write(key, '1');
      const request = { ...client.commitRequest(tx), snapshot: tx.snapshot!, attemptRegions: ['virginia', 'oregon'] };
      const { ct, deps } = world.call('oregon-1', request, 'CommitResp');
      expect(deps).toEqual(tx.read.deps!.map((ts, i) => (i === OREGON ? ct : ts)));
      world.run(100);
      expect(world.node('ireland-1').store.chains.get(`0|${key}`)![0]).toMatchObject({ region: 'oregon', deps });
    });

    it('a commit without writes adds nothing to what the session has seen', () => {
      const world = settled();
      const client = new TestClient(world, 'virginia-1');
      const tx = client.begin();
      const { seen } = client.session;
      client.commit(tx);
      expect(client.session.seen).toEqual(seen);
    });

    it('a vector protocol cannot run where a region lacks a partition', () => {
      const start = () => new World({ protocol, session, spec: THREE_REGIONS });
      expect(start).toThrow(IsochronError);
      expect(start).toThrow(/partition default\/0 has no replica in ireland/);
      expect(protocol.unsupported?.(settled().topology)).toBeUndefined();
    });
  });

  describe('the session', () => {
    const created = (): Session => new Session('vector-session-0001', session);

    it('a vector session merges what it has seen entry by entry', () => {
      const client = created();
      client.observe({ ts: 30, deps: [10, 30] });
      client.observe({ ts: 20, deps: [20, 5] });
      expect(client.seen).toEqual({ ts: 30, deps: [20, 30] });
    });

    it('a vector session takes a timestamp alone for one that stands in every entry', () => {
      const client = created();
      client.observe({ ts: 15 });
      client.observe({ ts: 30, deps: [10, 30] });
      expect(client.seen).toEqual({ ts: 30, deps: [15, 30] });
      client.observe({ ts: 20 });
      expect(client.seen).toEqual({ ts: 30, deps: [20, 30] });
    });

    it('a vector session has seen its commits, and keeps no writes', () => {
      const client = created();
      const tx = client.begin();
      client.started(tx, 30, [10, 30]);
      tx.write('default/x', '1');
      expect(client.commit(tx)).toMatchObject({ snapshot: 30, deps: [10, 30] });
      client.committed(40, [40, 30]);
      expect(client.seen).toEqual({ ts: 40, deps: [40, 30] });
      expect(client.export()).toEqual({ ust: 40, deps: [40, 30], hwt: 40, cache: [] });
    });

    it('a commit of a vector session depends on the commits of the session that its transaction has not read', () => {
      const client = created();
      const [first, second, third] = [client.begin(), client.begin(), client.begin()];
      for (const tx of [first, second, third]) {
        client.started(tx, 30, [10, 30]);
        tx.write('default/x', '1');
      }
      expect(client.commit(first)).toMatchObject({ snapshot: 30, deps: [10, 30], hwt: 0 });
      // A later attempt had its home in the other region.
      client.committed(40, [10, 40]);
      expect(client.commit(second)).toMatchObject({ snapshot: 40, deps: [10, 40], hwt: 40 });
      client.committed(50, [50, 40]);
      expect(client.commit(third)).toMatchObject({ snapshot: 50, deps: [50, 40], hwt: 50 });
    });

    it('a vector session waits everywhere for a commit of which only the timestamp is known', () => {
      const client = created();
      const tx = client.begin();
      client.started(tx, 30, [10, 30]);
      tx.write('default/x', '1');
      client.commit(tx);
      client.committed(40);
      expect(client.seen).toEqual({ ts: 40, deps: [40, 40] });
    });
  });
}
