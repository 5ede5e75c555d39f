/**
 * Claims about what a transaction sees (sections III-B and IV-B): CANToR's snapshots and cache, BDT's two timestamps.
 */

import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { World } from '@isochron/testing/world/world';
import { assigned, everywhereOn, snapshotOf, times, wrenWorld } from '@isochron/testing/world/wren-world';
import { wrenSession } from './session.js';
import { wren } from './wren.js';

describe('Wren: snapshots (CANToR)', () => {
  it('all reads proceed without blocking while commits of the same keys are pending (section III-B)', () => {
    const world = wrenWorld(everywhereOn(2, 1, 3), { delayMs: () => 40, syncMs: 30 });
    const keys = [0, 1, 2].map((partition) => keyIn(world, partition));
    const writer = new TestClient(world, 'virginia-1');
    for (let round = 0; round < 5; round++) {
      const tx = writer.begin();
      for (const key of keys) tx.write(key, String(round));
      const commit = world.ask('virginia-1', writer.commitRequest(tx));
      for (let step = 0; step < 20; step++) {
        // No virtual time passes between request and response.
        const ref = world.ask('virginia-1', { type: 'ReadReq', txId: null, ust: 0, at: null, keys });
        expect(world.answer('virginia-1', ref)?.type).toBe('ReadResp');
        world.run(5);
      }
      const answer = world.answer('virginia-1', commit);
      if (answer?.type !== 'CommitResp') throw new Error(`not committed: ${JSON.stringify(answer)}`);
      writer.session.committed(answer.ct, answer.deps);
    }
    for (const { waiting, counters } of world.node('virginia-1').parts.replicas) {
      expect([waiting.counters.blockedReads, counters.refusedSlices]).toEqual([0, 0]);
    }
  });

  it('the snapshot is what every partition in the region has installed: a partition that is behind holds it back (section III-B)', () => {
    const world = wrenWorld(everywhereOn(2, 2, 2));
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const bob = new TestClient(world, 'virginia-1');
    world.filter = ({ message, to }) => !(message.type === 'CommitTx' && to.node === 'virginia-2');
    const { ct } = bob.write({ [x]: '"X"', [y]: '"Y"' });
    world.run(200);
    const alice = new TestClient(world, 'virginia-1');
    expect(assigned(world, 'virginia-1').lt).toBeLessThan(ct);
    expect(alice.readOnce(x, y)).toEqual([null, null]);
    world.filter = () => true;
    world.until(() => times(world, 'virginia-1').lst >= ct);
    expect(alice.readOnce(x, y)).toEqual(['"X"', '"Y"']);
  });

  it('the remote snapshot time lies below the local one, also where the clocks of other regions run ahead (section IV-B)', () => {
    const world = wrenWorld(everywhereOn(3, 1, 3), { skewMs: (node) => (node === 'virginia-1' ? -400 : 0) });
    // Virginia holds back its own versions, not those of the others.
    world.filter = ({ message }) => !(message.type === 'PrepareResp');
    let reached = 0;
    for (let i = 0; i < 60; i++) {
      for (const node of ['virginia-1', 'oregon-1', 'ireland-1']) {
        const { lt, rt } = assigned(world, node);
        expect(rt).toBeLessThan(lt);
        if (times(world, node).rst >= times(world, node).lst) reached++;
      }
      world.run(3);
    }
    expect(reached).toBeGreaterThan(0);
  });

  it('in a cluster of one region nothing is remote: rt follows lt (section IV-B)', () => {
    const world = wrenWorld(everywhereOn(1, 2, 2));
    const { lt, rt } = assigned(world, 'virginia-1');
    expect(lt).toBeGreaterThanOrEqual(times(world, 'virginia-1').lst);
    // They meet where LST is UST.
    expect([0, 1]).toContain(lt - rt);
    const client = new TestClient(world, 'virginia-2');
    client.write({ [keyIn(world, 0)]: '1', [keyIn(world, 1)]: '1' });
    world.run(50);
    expect(new TestClient(world, 'virginia-1').readOnce(keyIn(world, 0), keyIn(world, 1))).toEqual(['1', '1']);
  });
});

describe('Wren: the client-side cache (CANToR)', () => {
  it('a session reads its own commits above LST from its cache, while no other session sees them (section III-B)', () => {
    const world = wrenWorld(everywhereOn(2, 1, 1), { syncMs: 25 });
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    const { ct } = client.write({ [key]: '1' });
    expect(times(world, 'virginia-1').lst).toBeLessThan(ct);
    expect(client.readOnce(key)).toEqual(['1']);
    expect(new TestClient(world, 'virginia-1').readOnce(key)).toEqual([null]);
  });

  it('the cache drops what the local stable snapshot includes, also when another region is cut off (section III-C)', () => {
    const world = wrenWorld(everywhereOn(2, 1, 1));
    const key = keyIn(world, 0);
    world.cut('virginia-1', 'oregon-1');
    const client = new TestClient(world, 'virginia-1');
    const { ct } = client.write({ [key]: '1' });
    expect(client.session.cacheSize).toBe(1);
    world.until(() => times(world, 'virginia-1').lst >= ct, 500);
    expect(client.readOnce(key)).toEqual(['1']);
    expect(client.session.cacheSize).toBe(0);
    expect(world.ust()).toBeLessThan(ct);
  });

  it('no visible remote version is newer than an own write in the cache, "by forcing the remote stable time to be lower than lst" (section IV-B)', () => {
    const world = wrenWorld(everywhereOn(2, 2, 2));
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    // An undecided prepare holds virginia's LST back, while oregon's times go on.
    world.filter = ({ message, to }) => !(message.type === 'CommitTx' && to.node === 'virginia-2');
    new TestClient(world, 'virginia-1').write({ [keyIn(world, 0, 'o')]: '0', [keyIn(world, 1, 'o')]: '0' });
    const alice = new TestClient(world, 'virginia-1');
    const mine = alice.write({ [x]: '"mine"' });
    const bob = new TestClient(world, 'oregon-1');
    const theirs = bob.write({ [x]: '"theirs"', [y]: '"theirs"' });
    expect(theirs.ct).toBeGreaterThan(mine.ct);
    world.until(() => times(world, 'virginia-1').rst >= theirs.ct, 1_000);
    expect(times(world, 'virginia-1').lst).toBeLessThan(mine.ct);
    // All of oregon's transaction or none of it.
    expect(alice.readOnce(x, y)).toEqual(['"mine"', null]);
    world.filter = () => true;
    world.until(() => times(world, 'virginia-1').lst > theirs.ct);
    expect(alice.readOnce(x, y)).toEqual(['"theirs"', '"theirs"']);
  });

  it('snapshots of a session grow in both times, from coordinator to coordinator of its region (Alg. 2 lines 2–3)', () => {
    const world = wrenWorld(everywhereOn(2, 3, 3));
    // Two of three coordinators receive no times of their region.
    world.filter = ({ message }) => message.type !== 'GossipDown';
    const client = new TestClient(world, 'virginia-1');
    world.run(100);
    let last = { lt: 0, rt: 0 };
    for (let i = 0; i < 12; i++) {
      client.node = `virginia-${(i % 3) + 1}`;
      const tx = client.begin();
      const [rt] = tx.read.deps!;
      expect(tx.snapshot).toBeGreaterThanOrEqual(last.lt);
      expect(rt).toBeGreaterThanOrEqual(last.rt);
      last = { lt: tx.snapshot!, rt: rt! };
      client.session.end(tx);
      world.run(7);
    }
    // Those two have the times that the session claimed.
    expect(times(world, 'virginia-2').lst).toBeGreaterThan(0);
    expect([...world.nodes.values()].every(({ parts }) => parts.coordinator.counters.snapshotWaits === 0)).toBe(true);
  });
});

describe('Wren: what versions depend on (BDT)', () => {
  it('an item carries its commit time and rt of the transaction that wrote it, however many regions there are (section III-C)', () => {
    for (const regions of [2, 5]) {
      const world = wrenWorld(everywhereOn(regions, 1, 2), { delayMs: () => 20 });
      const client = new TestClient(world, 'oregon-1');
      const tx = client.begin();
      for (const partition of [0, 1]) tx.write(keyIn(world, partition), '1');
      const [rt] = tx.read.deps!;
      const ct = client.commit(tx);
      world.run(200);
      for (const { store } of world.nodes.values()) {
        const versions = [...store.chains.values()].flat();
        expect(versions.map(({ ts, deps, region }) => ({ ts, deps, region }))).toEqual(
          [0, 1].map(() => ({ ts: ct, deps: [rt], region: 'oregon' })),
        );
      }
      expect(rt).toBeGreaterThan(0);
      const up = world.sent.find(({ message }) => message.type === 'GossipUp' || message.type === 'GossipDown');
      expect(up).toBeUndefined(); // one node in each region
      expect(world.node('oregon-1').parts.coordinator.state.regional.size).toBe(2);
    }
  });

  it('a local version belongs to a snapshot that has its commit time and its remote dependencies (Alg. 3 line 7)', () => {
    const world = wrenWorld(everywhereOn(2, 1, 1), { delayMs: () => 20 });
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    const tx = client.begin();
    const [rdt = 0] = tx.read.deps!;
    tx.write(key, '1');
    const ut = client.commit(tx);
    world.until(() => world.ust() > ut);
    const read = (lt: number, rt: number) => {
      const request = { type: 'ReadReq' as const, txId: null, ust: 0, keys: [key], ...snapshotOf(lt, rt, 0) };
      return world.call('virginia-1', request, 'ReadResp').versions[0]?.value ?? null;
    };
    expect([read(ut, rdt), read(ut - 1, rdt), read(ut, rdt - 1), read(ut + 1, rdt + 1)]).toEqual([
      '1',
      null,
      null,
      '1',
    ]);
  });

  it('a remote version belongs to a snapshot whose rt has its commit time, and whose lt has its dependencies (Alg. 3 line 8)', () => {
    const world = wrenWorld(everywhereOn(2, 1, 1), { delayMs: () => 20 });
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'oregon-1');
    const tx = client.begin();
    const [rdt = 0] = tx.read.deps!;
    tx.write(key, '1');
    const ut = client.commit(tx);
    world.until(() => world.ust() > ut);
    const read = (lt: number, rt: number) => {
      const request = { type: 'ReadReq' as const, txId: null, ust: 0, keys: [key], ...snapshotOf(lt, rt, 0) };
      return world.call('virginia-1', request, 'ReadResp').versions[0]?.value ?? null;
    };
    expect([read(rdt, ut), read(rdt, ut - 1), read(rdt - 1, ut)]).toEqual(['1', null, null]);
  });

  it('a commit lies above both times of its snapshot, and above the last write of its session (Alg. 2 line 19)', () => {
    const world = wrenWorld(everywhereOn(2, 1, 2), { skewMs: (node) => (node === 'virginia-1' ? 300 : 0) });
    const client = new TestClient(world, 'oregon-1');
    let hwt = 0;
    for (let i = 0; i < 10; i++) {
      const tx = client.begin();
      tx.write(keyIn(world, i % 2), String(i));
      const [rt = 0] = tx.read.deps!;
      const ct = client.commit(tx);
      expect(ct).toBeGreaterThan(Math.max(tx.snapshot!, rt, hwt));
      hwt = ct;
      world.run(5);
    }
  });
});

describe('Wren: garbage collection (section IV-B)', () => {
  it('an open transaction keeps the versions that the older of its two times needs', () => {
    const world = wrenWorld(everywhereOn(2, 1, 1), { delayMs: () => 80, settings: { retentionMs: 0 } });
    const key = keyIn(world, 0);
    const writer = new TestClient(world, 'oregon-1');
    for (let i = 0; i < 30; i++) writer.write({ [key]: String(i) });
    const reader = new TestClient(world, 'virginia-1');
    const tx = reader.begin();
    const [rt = 0] = tx.read.deps!;
    const had = world.node('virginia-1').store.find(0, key, ({ ts }) => ts <= rt);
    for (let i = 30; i < 90; i++) {
      writer.write({ [key]: String(i) });
      world.run(50);
    }
    const { replication } = world.node('virginia-1').parts.replicas[0]!;
    expect(world.ust()).toBeGreaterThan(tx.snapshot!);
    expect(replication.gcFloor).toBeGreaterThan(0);
    expect(replication.gcFloor).toBeLessThanOrEqual(rt);
    expect(reader.read(tx, key)).toEqual([had?.value ?? null]);
  });

  it('a snapshot below the floor of garbage collection is refused, never answered wrongly', () => {
    const world = wrenWorld(everywhereOn(2, 1, 1), { settings: { retentionMs: 0 } });
    const key = keyIn(world, 0);
    const writer = new TestClient(world, 'oregon-1');
    const { ct } = writer.write({ [key]: '1' });
    for (let i = 0; i < 20; i++) {
      writer.write({ [key]: String(i) });
      world.run(300);
    }
    const request = { type: 'ReadReq' as const, txId: null, ust: 0, keys: [key] };
    for (const at of [snapshotOf(ct + 1, ct, 0), { at: ct }]) {
      expect(world.call('virginia-1', { ...request, ...at }, 'Refused').code).toBe('SNAPSHOT_TOO_OLD');
      const start = { type: 'StartTxReq' as const, txId: 'session-0123456789.1', ust: 0, ...at };
      expect(world.call('virginia-1', start, 'Refused').code).toBe('SNAPSHOT_TOO_OLD');
    }
  });

  it('where LST is UST itself, fresh snapshots are served, and nothing is collected above them', () => {
    const world = wrenWorld(everywhereOn(2, 2, 2), { settings: { retentionMs: 0 } });
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const writer = new TestClient(world, 'virginia-1');
    writer.write({ [x]: '0', [y]: '0' });
    world.run(500);
    // An undecided transaction holds back LST, UST with it, and nothing else.
    world.filter = ({ message, to }) =>
      !(to.node === 'virginia-2' && ['CommitTx', 'ResolveReq', 'ResolveResp'].includes(message.type));
    writer.write({ [x]: '1', [y]: '1' });
    for (let i = 0; i < 20; i++) {
      world.run(300);
      expect(new TestClient(world, 'virginia-1').readOnce(x, y)).toEqual(['0', '0']);
    }
    const { lt, rt } = assigned(world, 'virginia-1');
    const { gcFloor } = world.node('virginia-1').parts.replicas[0]!.replication;
    expect([lt, rt, gcFloor]).toEqual([world.ust(), world.ust(), world.ust()]);
    world.filter = () => true;
    world.run(3_000);
    expect(new TestClient(world, 'virginia-1').readOnce(x, y)).toEqual(['1', '1']);
  });
});

describe('Wren: placement (section II-A)', () => {
  it('"the data-set is fully replicated: each partition is replicated at all M DCs", and nothing else runs', () => {
    expect(() => new World({ protocol: wren, session: wrenSession })).toThrow('no replica in');
    expect(wren.unsupported!(wrenWorld(everywhereOn(3, 1, 2)).topology)).toBeUndefined();
  });

  it('a node without replicas coordinates with the times of its region, and does not hold them back', () => {
    const world = wrenWorld(everywhereOn(2, 4, 2));
    expect(world.topology.partitionsOn('virginia-4')).toEqual([]);
    const client = new TestClient(world, 'virginia-4');
    const key = keyIn(world, 1);
    const { ct } = client.write({ [key]: '1' });
    world.until(() => times(world, 'virginia-4').lst >= ct, 500);
    expect(new TestClient(world, 'virginia-4').readOnce(key)).toEqual(['1']);
  });
});
