/** Claims about nodes that come back: they serve at once or wait within a bound, and never answer wrongly. */

import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { loseDisk, recovered } from '@isochron/testing/world/lost-disks';
import type { World } from '@isochron/testing/world/world';
import { assigned, everywhereOn, times, wrenWorld } from '@isochron/testing/world/wren-world';
import type { ClientResponse } from '../kernel/transactions/messages.js';

describe('Wren: after a restart', () => {
  it('new sessions are served at once, from UST, before the node has any times of its region again', () => {
    const world = wrenWorld(everywhereOn(2, 2, 2));
    const key = keyOn(world, 'virginia-2');
    const { ct } = new TestClient(world, 'virginia-2').write({ [key]: '1' });
    const ust = () => Number(world.node('virginia-2').store.meta.get('ust'));
    world.until(() => ust() > ct);
    world.crash('virginia-2');
    for (const other of ['virginia-1', 'oregon-1', 'oregon-2']) world.cut('virginia-2', other);
    world.restart('virginia-2');
    expect(times(world, 'virginia-2')).toEqual({ lst: 0, rst: 0 });
    const ref = world.ask('virginia-2', { type: 'ReadReq', txId: null, ust: 0, at: null, keys: [key] });
    const answer = world.answer('virginia-2', ref) as Extract<ClientResponse, { type: 'ReadResp' }>;
    expect(answer.versions[0]?.value).toBe('1');
    expect([answer.snapshot, answer.deps![0]]).toEqual([ust(), ust()]);
  });

  it('a session that has seen more waits until the node has that again, and then goes on', () => {
    const world = wrenWorld(everywhereOn(2, 1, 1));
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    client.write({ [key]: '1' });
    world.run(30);
    client.readOnce(key);
    const { seen } = client.session;
    world.crash('virginia-1');
    world.restart('virginia-1');
    expect(assigned(world, 'virginia-1').lt).toBeLessThan(seen.ts);
    const { parts } = world.node('virginia-1');
    const start = world.now;
    expect(client.readOnce(key)).toEqual(['1']);
    expect(parts.coordinator.counters.snapshotWaits).toBe(1);
    expect(world.now - start).toBeLessThan(300);
    expect(client.session.seen.ts).toBeGreaterThanOrEqual(seen.ts);
  });

  it('a replica that has not recovered refuses, holds no read back, and is read again soon', () => {
    const world = wrenWorld(everywhereOn(2, 2, 2));
    const key = keyOn(world, 'virginia-2');
    const { ct } = new TestClient(world, 'virginia-1').write({ [key]: '1' });
    world.until(() => times(world, 'virginia-1').lst >= ct);
    world.run(30);
    world.crash('virginia-2');
    world.restart('virginia-2');
    const start = world.now;
    expect(new TestClient(world, 'virginia-1').readOnce(key)).toEqual(['1']);
    expect(world.now - start).toBeLessThan(300);
    const [replica] = world.node('virginia-2').parts.replicas;
    expect(replica!.counters.refusedSlices).toBeGreaterThan(0);
    expect(replica!.waiting.counters.blockedReads).toBe(0);
  });

  it('a read gives up on a replica that does not recover, with SNAPSHOT_UNAVAILABLE', () => {
    const world = wrenWorld(everywhereOn(2, 2, 2), { settings: { readDeadlineMs: 1_000, verifyTimeoutMs: 2_000 } });
    world.run(50);
    world.crash('virginia-2');
    world.cut('virginia-2', 'oregon-2');
    world.restart('virginia-2');
    const key = keyOn(world, 'virginia-2');
    const request = { type: 'ReadReq' as const, txId: null, ust: 0, at: null, keys: [key] };
    expect(world.call('virginia-1', request, 'Refused').code).toBe('SNAPSHOT_UNAVAILABLE');
    // Its own version clock moves on soon; of the other region it has less than the snapshot.
    world.run(2_000);
    const { lst, rst } = times(world, 'virginia-1');
    const { vv } = world.node('virginia-2').parts.replicas[0]!.replication;
    expect([vv.durable('virginia') >= lst, vv.durable('oregon') >= rst]).toEqual([true, false]);
    expect(world.call('virginia-1', request, 'Refused').code).toBe('SNAPSHOT_UNAVAILABLE');
    world.heal('virginia-2', 'oregon-2');
    world.run(100);
    expect(world.call('virginia-1', request, 'ReadResp').versions).toEqual([null]);
  });

  it('a local item stays hidden until its dependencies are installed again: lt alone does not show it (Alg. 3 line 7)', () => {
    // Nothing is written in the third partition: its disk has least of oregon.
    const world = wrenWorld(everywhereOn(2, 1, 3), { settings: { verifyTimeoutMs: 2_000 } });
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    // UST, which is on the disk, stands still; RST rises.
    world.filter = ({ message }) => message.type !== 'GossipRoot';
    world.run(200);
    const { ct } = new TestClient(world, 'oregon-1').write({ [x]: 'X' });
    world.until(() => times(world, 'virginia-1').rst >= ct);
    const client = new TestClient(world, 'virginia-1');
    expect(client.readOnce(x)).toEqual(['X']);
    const effect = client.write({ [y]: 'Y' });
    world.until(() => times(world, 'virginia-1').lst >= effect.ct);
    world.crash('virginia-1');
    world.cut('virginia-1', 'oregon-1');
    world.restart('virginia-1');
    world.run(2_500);
    const { lt, rt } = assigned(world, 'virginia-1');
    expect([lt >= effect.ct, rt < ct]).toEqual([true, true]);
    expect(new TestClient(world, 'virginia-1').readOnce(x, y)).toEqual([null, null]);
    world.heal('virginia-1', 'oregon-1');
    world.until(() => times(world, 'virginia-1').rst >= effect.ct);
    expect(new TestClient(world, 'virginia-1').readOnce(x, y)).toEqual(['X', 'Y']);
  });

  it('a node that has lost its disk comes back with a copy, and the times of its region go on (D10)', () => {
    const world = wrenWorld(everywhereOn(3, 2, 4));
    const keys = [0, 1, 2, 3].map((p) => keyIn(world, p));
    const client = new TestClient(world, 'virginia-1');
    const { ct } = client.write(Object.fromEntries(keys.map((key) => [key, '1'])));
    world.until(() => world.ust() > ct);
    loseDisk(world, 'virginia-2');
    world.until(recovered(world, 'virginia-2'));
    const { lst, rst } = times(world, 'virginia-1');
    world.until(() => times(world, 'virginia-1').lst > lst && times(world, 'virginia-1').rst > rst);
    for (const node of ['virginia-1', 'virginia-2']) {
      expect(new TestClient(world, node).readOnce(...keys)).toEqual(['1', '1', '1', '1']);
    }
    const rdts = (node: string) => [...world.node(node).store.chains.values()].flat().map(({ deps }) => deps);
    expect(rdts('virginia-2')).toEqual(rdts('oregon-2'));
  });

  it('an acknowledged commit and its dependencies survive the crash of every node', () => {
    const world = wrenWorld(everywhereOn(2, 2, 2), { delayMs: (a, b) => (a[0] === b[0] ? 1 : 50) });
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const client = new TestClient(world, 'virginia-1');
    const tx = client.begin();
    for (const key of [x, y]) tx.write(key, '1');
    const [rdt] = tx.read.deps!;
    const ct = client.commit(tx);
    for (const node of world.nodes.keys()) world.crash(node);
    for (const node of world.nodes.keys()) world.restart(node);
    world.until(() => world.ust() >= ct);
    for (const { store } of world.nodes.values()) {
      expect([...store.chains.values()].flat().map(({ ts, deps }) => ({ ts, deps }))).toEqual([
        { ts: ct, deps: [rdt] },
      ]);
    }
    expect(client.readOnce(x, y)).toEqual(['1', '1']);
  });
});

/** A key of a partition that the node holds. */
const keyOn = (world: World, node: string): string => keyIn(world, world.topology.partitionsOn(node)[0]!);
