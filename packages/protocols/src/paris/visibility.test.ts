/** Claims about what a transaction sees: snapshots, sessions, atomicity. */
import { packWall } from '@isochron/core';
import { keyIn, TestClient } from '../testing/clients.js';
import { World } from '../testing/world.js';

const REGIONS = ['virginia-1', 'oregon-1', 'ireland-1'];

function settled(options?: ConstructorParameters<typeof World>[0]): World {
  const world = new World(options);
  world.run(100);
  return world;
}

describe('PaRiS: what a transaction sees', () => {
  it('a snapshot contains all of a transaction or nothing of it (Prop. 4)', () => {
    const world = settled({ delayMs: (a, b) => (a === 'ireland-1' || b === 'ireland-1' ? 60 : 2) });
    const keys = [0, 1, 2, 3, 4, 5].map((partition) => keyIn(world, partition));
    const writer = new TestClient(world, 'virginia-1');
    const readers = REGIONS.map((node) => new TestClient(world, node));
    for (let round = 1; round <= 5; round++) {
      writer.write(Object.fromEntries(keys.map((key) => [key, String(round)])));
      for (let step = 0; step < 8; step++) {
        for (const reader of readers) expect(new Set(reader.readOnce(...keys)).size).toBe(1);
        world.run(9);
      }
    }
  });

  it('a session never sees an effect without its cause (Prop. 3: album and access list)', () => {
    const world = settled({ delayMs: (a, b) => (a === 'oregon-1' || b === 'oregon-1' ? 80 : 1) });
    const [acl, album] = [keyIn(world, 0, 'acl'), keyIn(world, 4, 'album')];
    const alice = new TestClient(world, 'virginia-1');
    alice.write({ [acl]: 'public', [album]: 'empty' });
    alice.write({ [acl]: 'private' });
    const { ct } = alice.write({ [album]: 'secret photo' });
    const eves = REGIONS.map((node) => new TestClient(world, node));
    while (world.ust() < ct) {
      for (const eve of eves) {
        const [seenAcl, seenAlbum] = eve.readOnce(acl, album);
        if (seenAlbum === 'secret photo') expect(seenAcl).toBe('private');
      }
      world.run(3);
    }
    for (const eve of eves) expect(eve.readOnce(acl, album)).toEqual(['private', 'secret photo']);
  });

  it('a transaction reads its own writes before anything else (Alg. 1 line 11)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    const tx = client.begin();
    tx.write(key, '"mine"');
    expect(client.read(tx, key)).toEqual(['"mine"']);
  });

  it('a session reads its own commits long before they are stable, through its write cache', () => {
    const world = settled({ delayMs: () => 100 });
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    const { ct } = client.write({ [key]: '1' });
    expect(world.ust()).toBeLessThan(ct);
    expect(client.readOnce(key)).toEqual(['1']);
    expect(new TestClient(world, 'virginia-1').readOnce(key)).toEqual([null]);
  });

  it('a transaction sees the same value of a key twice, also when there was none (repeatable read, P7)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const reader = new TestClient(world, 'ireland-1');
    const tx = reader.begin();
    expect(reader.read(tx, key)).toEqual([null]);
    const { ct } = new TestClient(world, 'virginia-1').write({ [key]: '1' });
    world.until(() => world.ust() >= ct);
    expect(reader.read(tx, key)).toEqual([null]);
    expect(reader.readOnce(key)).toEqual(['1']);
  });

  it('snapshots of a session never go back, on whatever node it continues (D9)', () => {
    const world = settled({ delayMs: (a, b) => (a === 'ireland-1' || b === 'ireland-1' ? 70 : 1) });
    const key = keyIn(world, 3);
    const client = new TestClient(world, 'virginia-1');
    let last = 0;
    for (let i = 0; i < 30; i++) {
      client.node = REGIONS[i % 3]!;
      const tx = client.begin();
      expect(tx.snapshot!).toBeGreaterThanOrEqual(last);
      last = tx.snapshot!;
      tx.write(key, String(i));
      client.commit(tx);
      expect(client.readOnce(key)).toEqual([String(i)]);
    }
  });

  it('concurrent writes of one key converge to the greatest (ct, txId, region) everywhere', () => {
    const world = settled({ delayMs: () => 30 });
    const key = keyIn(world, 0);
    const writers = REGIONS.map((node) => new TestClient(world, node));
    const written = writers.map((writer, i) => ({ value: String(i), ...writer.write({ [key]: String(i) }) }));
    world.until(() => world.ust() >= Math.max(...written.map((w) => w.ct)));
    const winner = written.sort((a, b) => b.ct - a.ct || (a.txId < b.txId ? 1 : -1))[0]!;
    for (const node of REGIONS) expect(new TestClient(world, node).readOnce(key)).toEqual([winner.value]);
  });

  it('a deleted key reads as absent, and its tombstone sorts like any version', () => {
    const world = settled();
    const key = keyIn(world, 1);
    const client = new TestClient(world, 'oregon-1');
    client.write({ [key]: '1' });
    const { ct } = client.write({ [key]: null });
    world.until(() => world.ust() >= ct);
    expect(new TestClient(world, 'ireland-1').readOnce(key)).toEqual([null]);
  });

  it('one-shot reads start, read and end in one round trip (P11)', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const { ct } = new TestClient(world, 'virginia-1').write({ [key]: '1' });
    world.until(() => world.ust() >= ct);
    const { snapshot, versions } = world.call(
      'ireland-1',
      { type: 'ReadReq', txId: null, ust: ct, at: null, keys: [key] },
      'ReadResp',
    );
    expect(snapshot).toBeGreaterThanOrEqual(ct);
    expect(versions[0]!.value).toBe('1');
    expect(world.node('ireland-1').paris.coordinator.table.size).toBe(0);
  });

  it('lists keys of all partitions in order, page by page, inside one snapshot', () => {
    const world = settled();
    const client = new TestClient(world, 'virginia-1');
    const names = Array.from({ length: 25 }, (_, i) => `default/item/${String(i).padStart(2, '0')}`);
    let ct = 0;
    for (const name of names) ct = client.write({ [name]: name }).ct;
    world.until(() => world.ust() >= ct);
    const listed: string[] = [];
    let start: string | null = 'default/item/';
    while (start !== null) {
      const range = { start, end: 'default/item0', limit: 4 };
      const request = { type: 'ListReq' as const, txId: null, ust: 0, at: ct, keyspace: 'default', range };
      const page: { entries: readonly { key: string }[]; next: string | null } = world.call(
        'oregon-1',
        request,
        'ListResp',
      );
      expect(page.entries.length).toBeLessThanOrEqual(4);
      listed.push(...page.entries.map((entry) => entry.key));
      start = page.next;
    }
    expect(listed).toEqual(names);
  });
});

describe('PaRiS: listings over uneven partitions', () => {
  it('misses no key where one partition was cut before the others', () => {
    const world = settled();
    const inOne = (key: string) => world.topology.partitionOf(key) === 0;
    const candidates = Array.from({ length: 900 }, (_, i) => `default/n/${String(i).padStart(3, '0')}`);
    const names = candidates.filter((key, i) => inOne(key) || i % 20 === 0);
    const { ct } = new TestClient(world, 'virginia-1').write(Object.fromEntries(names.map((name) => [name, '1'])));
    world.until(() => world.ust() >= ct);
    const listed: string[] = [];
    let start: string | null = 'default/n/';
    while (start !== null) {
      const range = { start, end: 'default/n0', limit: 100 };
      const request = { type: 'ListReq' as const, txId: null, ust: 0, at: ct, keyspace: 'default', range };
      const page: { entries: readonly { key: string }[]; next: string | null } = world.call(
        'ireland-1',
        request,
        'ListResp',
      );
      listed.push(...page.entries.map((entry) => entry.key));
      start = page.next;
    }
    expect(listed).toEqual(names);
  });
});

describe('PaRiS: which snapshots are served', () => {
  it('a snapshot that is not stable yet is waited for within a bound, then refused (P5)', () => {
    const world = settled({ delayMs: () => 40 });
    const key = keyIn(world, 0);
    const { ct } = new TestClient(world, 'virginia-1').write({ [key]: '1' });
    const soon = world.call('virginia-1', { type: 'ReadReq', txId: null, ust: 0, at: ct, keys: [key] }, 'ReadResp');
    expect(soon.snapshot).toBe(ct);
    const later = packWall(world.now + 60_000);
    const refused = world.call(
      'virginia-1',
      { type: 'ReadReq', txId: null, ust: 0, at: later, keys: [key] },
      'Refused',
    );
    expect(refused.code).toBe('SNAPSHOT_UNAVAILABLE');
  });

  it('a stable time from a client raises the local one only as far as the own version vectors (P5)', () => {
    const world = settled();
    const { paris } = world.node('virginia-1');
    const bound = Math.min(...paris.replicas.map((replica) => replica.vv.durableMin));
    world.ask('virginia-1', {
      type: 'StartTxReq',
      txId: 'forged-session-0001.0',
      ust: packWall(world.now + 5_000),
      at: null,
    });
    expect(paris.stable.value).toBeLessThanOrEqual(bound);
    expect(paris.stable.refused).toBeGreaterThan(0);
    expect(paris.stable.aggregated).toBeLessThanOrEqual(paris.stable.value);
  });

  it("a client's timestamp beyond half of the drift limit is refused before anything is durable (T1)", () => {
    const world = settled();
    const future = packWall(world.now + world.settings.maxClockDriftMs / 2 + 1_000);
    const read = { type: 'ReadReq' as const, txId: null, ust: future, at: null, keys: ['default/x'] };
    expect(world.call('virginia-1', read, 'Refused').code).toBe('TIMESTAMP_IN_FUTURE');
    const commit = {
      type: 'CommitReq' as const,
      txId: 'future-session-0001.0',
      snapshot: 1,
      hwt: future,
      birth: 1,
      homes: ['virginia'],
      principal: 'anonymous',
      writes: [{ key: 'default/x', value: '1' }],
    };
    expect(world.call('virginia-1', commit, 'Refused').code).toBe('TIMESTAMP_IN_FUTURE');
    expect([...world.nodes.values()].every(({ store }) => store.outcomes.size === 0 && store.prepared.size === 0)).toBe(
      true,
    );
  });

  it('a read below the garbage collection floor is refused, never answered wrongly (P9)', () => {
    const world = settled({ settings: { retentionMs: 500 } });
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    const { ct: old } = client.write({ [key]: '1' });
    for (let i = 2; i < 5; i++) {
      world.run(1_000);
      client.write({ [key]: String(i) });
    }
    world.run(4_000);
    expect(world.node('virginia-1').paris.stable.gcFloor).toBeGreaterThan(old);
    const past = world.call('virginia-1', { type: 'ReadReq', txId: null, ust: 0, at: old, keys: [key] }, 'Refused');
    expect(past.code).toBe('SNAPSHOT_TOO_OLD');
    expect(client.readOnce(key)).toEqual(['4']);
    // A coordinator that does not know the floor asks the replica, which does.
    const from = { node: 'oregon-1', machine: 'coordinator' };
    const slice = { type: 'ReadSliceReq' as const, ref: 4711, partition: 0, snapshot: old, keys: [key] };
    world.inject({ node: 'virginia-1', machine: 'replica/0' }, from, slice);
    world.run(50);
    const told = world.sent.find(({ message }) => 'ref' in message && message.ref === 4711);
    expect(told?.message).toMatchObject({ type: 'Refused', code: 'SNAPSHOT_TOO_OLD' });
  });

  it('an open transaction holds garbage collection back in every region, until its lease is over (P9)', () => {
    const world = settled({ settings: { retentionMs: 200, maxTransactionMs: 6_000 } });
    const key = keyIn(world, 0);
    const writer = new TestClient(world, 'oregon-1');
    writer.write({ [key]: '0' });
    world.run(300);
    const reader = new TestClient(world, 'ireland-1');
    const tx = reader.begin();
    for (let i = 1; i < 4; i++) {
      world.run(1_000);
      writer.write({ [key]: String(i) });
    }
    for (const { paris } of world.nodes.values()) expect(paris.stable.gcFloor).toBeLessThanOrEqual(tx.snapshot!);
    expect(reader.read(tx, key)).toEqual(['0']);
    world.run(8_000);
    writer.write({ [key]: '9' });
    world.run(3_000);
    expect(world.node('virginia-1').paris.stable.gcFloor).toBeGreaterThan(tx.snapshot!);
    const late = { type: 'ReadReq' as const, txId: tx.id, ust: 0, at: null, keys: [key] };
    expect(world.call('ireland-1', late, 'Refused').code).toBe('TRANSACTION_EXPIRED');
  });

  it('an ended transaction, and one that never was, are told apart', () => {
    const world = settled();
    const client = new TestClient(world, 'virginia-1');
    const tx = client.begin();
    world.call('virginia-1', { type: 'EndTxReq', txId: tx.id }, 'EndTxResp');
    const read = (txId: string) =>
      world.call('virginia-1', { type: 'ReadReq', txId, ust: 0, at: null, keys: ['default/x'] });
    expect(read(tx.id)).toMatchObject({ type: 'Refused', code: 'TRANSACTION_FINISHED' });
    expect(read('nobody-ever-made-it.0')).toMatchObject({ type: 'Refused', code: 'TRANSACTION_UNKNOWN' });
  });
});

describe('PaRiS: remote reads', () => {
  it('a partition that the region does not host is read from its preferred replica, and from another one when the link drops (P10)', () => {
    const world = settled();
    const remote = world.topology.partitions.find((p) => !p.regions.includes('virginia'))!;
    const key = keyIn(world, remote.id);
    const { ct } = new TestClient(world, 'oregon-1').write({ [key]: '1' });
    world.until(() => world.ust() >= ct);
    const [first, second] = world.topology.preferredRegions(remote.id, 'virginia');
    world.cut('virginia-1', `${first}-1`);
    const reader = new TestClient(world, 'virginia-1');
    expect(reader.readOnce(key)).toEqual(['1']);
    expect(world.sent.filter((e) => e.message.type === 'ReadSliceResp').at(-1)!.from.node).toBe(`${second}-1`);
  });

  it('a read that is under way when its link drops goes to another replica at once (P10)', () => {
    const world = settled();
    const remote = world.topology.partitions.find((p) => !p.regions.includes('virginia'))!;
    const [first] = world.topology.preferredRegions(remote.id, 'virginia');
    world.filter = ({ to, message }) => !(message.type === 'ReadSliceReq' && to.node === `${first}-1`);
    const read = { type: 'ReadReq' as const, txId: null, ust: 0, at: null, keys: [keyIn(world, remote.id)] };
    const ref = world.ask('virginia-1', read);
    world.run(20);
    expect(world.answer('virginia-1', ref)).toBeUndefined();
    world.cut('virginia-1', `${first}-1`);
    world.run(20);
    expect(world.answer('virginia-1', ref)?.type).toBe('ReadResp');
  });

  it('a remote replica that stays silent is given up after the read timeout (P10)', () => {
    const world = settled({ settings: { readTimeoutMs: 200 } });
    const remote = world.topology.partitions.find((p) => !p.regions.includes('ireland'))!;
    const key = keyIn(world, remote.id);
    const { ct } = new TestClient(world, 'oregon-1').write({ [key]: '1' });
    world.until(() => world.ust() >= ct);
    const [first] = world.topology.preferredRegions(remote.id, 'ireland');
    world.filter = ({ to, message }) => !(message.type === 'ReadSliceReq' && to.node === `${first}-1`);
    expect(new TestClient(world, 'ireland-1').readOnce(key)).toEqual(['1']);
    expect(world.node('ireland-1').paris.coordinator.reads.counters.failovers).toBeGreaterThan(0);
  });

  it('when no replica answers, the read is refused within its deadline', () => {
    const world = settled({ settings: { readTimeoutMs: 100, readDeadlineMs: 1_000 } });
    const remote = world.topology.partitions.find((p) => !p.regions.includes('virginia'))!;
    world.filter = ({ message }) => message.type !== 'ReadSliceReq';
    const read = { type: 'ReadReq' as const, txId: null, ust: 0, at: null, keys: [keyIn(world, remote.id)] };
    expect(world.call('virginia-1', read, 'Refused').code).toBe('REPLICA_UNREACHABLE');
  });
});
