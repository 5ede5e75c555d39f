/// <reference types="jest" />
/**
 * The claims of every protocol with transactional causal consistency about what a transaction sees, as tests.
 * `transaction-claims.test.ts` runs them for each such protocol.
 */
import { keyIn, TestClient } from '../world/clients.js';
import { THREE_REGIONS, World, type WorldOptions } from '../world/world.js';

const REGIONS = ['virginia-1', 'oregon-1', 'ireland-1'];

/** The three regions, with every partition in each. */
export const FULLY_REPLICATED = { ...THREE_REGIONS, keyspaces: [{ name: 'default', partitions: 6, replication: 3 }] };

/** Registers the claims for one protocol. */
export function transactionClaims(subject: WorldOptions): void {
  const settled = (options: WorldOptions = {}): World => {
    const world = new World({ ...subject, ...options });
    world.run(100);
    return world;
  };

  describe('what a transaction sees', () => {
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

    it('a transaction sees the same value of a key twice, also an absent one (repeatable read, P7)', () => {
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

    it('snapshots of a session never go back, on any node where it continues (D9)', () => {
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

    it('a read that asks for them also gets the newest versions of its replicas, tombstones among them (AR8)', () => {
      const world = settled({ delayMs: () => 40 });
      const [changed, deleted, same] = [0, 1, 2].map((partition) => keyIn(world, partition));
      const writer = new TestClient(world, 'virginia-1');
      const keys = [same!, changed!, deleted!, 'default/none'];
      const { ct } = writer.write({ [same!]: '"old"', [changed!]: '"old"', [deleted!]: '"old"' });
      world.until(() => world.ust() >= ct);
      const session = new TestClient(world, 'virginia-1').begin().seen.ts;
      const snapshot = world.call(
        'virginia-1',
        { type: 'ReadReq', txId: null, ust: session, at: null, keys },
        'ReadResp',
      );
      writer.write({ [changed!]: '"new"', [deleted!]: null });
      world.run(30);
      const at = { at: snapshot.snapshot, deps: snapshot.deps };
      const read = { type: 'ReadReq' as const, txId: null, ust: 0, keys, ...at };
      const { versions, newer } = world.call('virginia-1', { ...read, newest: true }, 'ReadResp');
      expect(versions.map((version) => version?.value)).toEqual(['"old"', '"old"', '"old"', undefined]);
      const values = newer?.map(({ index, version }) => [index, version.value]);
      expect(values?.sort()).toEqual([
        [1, '"new"'],
        [2, null],
      ]);
      expect(world.call('virginia-1', read, 'ReadResp').newer).toBeUndefined();
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
      expect(world.node('ireland-1').parts.coordinator.table.size).toBe(0);
    });

    it('a transaction lists keys of all partitions in order, page by page, inside one snapshot', () => {
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

    it('a listing misses no key where one partition was cut before the others', () => {
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

  describe('what is kept of the past, and of a crash', () => {
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
      expect(world.node('virginia-1').parts.stable.gcFloor).toBeGreaterThan(old);
      const past = world.call('virginia-1', { type: 'ReadReq', txId: null, ust: 0, at: old, keys: [key] }, 'Refused');
      expect(past.code).toBe('SNAPSHOT_TOO_OLD');
      const start = { type: 'StartTxReq' as const, txId: 'resumed-session-0001.0', ust: 0, at: old };
      expect(world.call('virginia-1', start)).toMatchObject({ type: 'Refused', code: 'SNAPSHOT_TOO_OLD' });
      expect(client.readOnce(key)).toEqual(['4']);
      // A coordinator without the floor asks the replica, which has it.
      const from = { node: 'oregon-1', machine: 'coordinator' };
      const slice = { type: 'ReadSliceReq' as const, ref: 4711, partition: 0, snapshot: old, keys: [key] };
      world.inject({ node: 'virginia-1', machine: 'replica/0' }, from, slice);
      world.run(50);
      const response = world.sent.find(({ message }) => 'ref' in message && message.ref === 4711);
      expect(response?.message).toMatchObject({ type: 'Refused', code: 'SNAPSHOT_TOO_OLD' });
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
      for (const { parts } of world.nodes.values()) expect(parts.stable.gcFloor).toBeLessThanOrEqual(tx.snapshot!);
      expect(reader.read(tx, key)).toEqual(['0']);
      world.run(8_000);
      writer.write({ [key]: '9' });
      world.run(3_000);
      expect(world.node('virginia-1').parts.stable.gcFloor).toBeGreaterThan(tx.snapshot!);
      const late = { type: 'ReadReq' as const, txId: tx.id, ust: 0, at: null, keys: [key] };
      expect(world.call('ireland-1', late, 'Refused').code).toBe('TRANSACTION_EXPIRED');
    });

    it('the reads and writes of a session are there after the crash of every node', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const client = new TestClient(world, 'virginia-1');
      client.write({ [key]: '1' });
      const { snapshot } = client.begin();
      for (const node of REGIONS) world.crash(node);
      for (const node of REGIONS) world.restart(node);
      const tx = client.begin();
      expect(tx.snapshot!).toBeGreaterThanOrEqual(snapshot!);
      expect(client.read(tx, key)).toEqual(['1']);
    });
  });
}
