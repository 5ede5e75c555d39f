/// <reference types="jest" />
/**
 * The claims of every causally consistent protocol of single operations about what clients see.
 * `causality-claims.test.ts` runs them for each such protocol.
 */
import type { Deps, NodeId, Timestamp } from '@isochron/core';
import type { OperationProtocol } from '@isochron/protocols/kernel/operations/protocol';
import { entrywiseMax, OperationSession } from '@isochron/protocols/kernel/operations/session';
import fc from 'fast-check';
import { NODES, settledWorld } from '../world/operation-fixtures.js';
import { keyIn, OperationClient, type OperationWorld, REGIONS, replicated } from '../world/operation-world.js';
import type { WorldOptions } from '../world/world-of.js';

/** A failing run is replayed by its seed. */
const RUNS = { seed: 20_261_120, numRuns: 25, endOnFailure: true };

/** Registers the claims for one protocol. */
export function causalityClaims(
  protocol: OperationProtocol,
  /** `seen` of a session that has seen everything up to a timestamp. */
  seenUpTo: (ts: Timestamp, world: OperationWorld) => Deps = seenEverything,
  /**
   * The result of a ROT that reaches one partition before a PUT of X1 and the other one after that of its effect Y1.
   */
  between: readonly [x: string, y: string] = ['X0', 'Y0'],
): void {
  const settled = (options: WorldOptions = {}): OperationWorld => settledWorld(protocol, options);

  describe('what a client sees', () => {
    it('a session that has seen an effect sees its cause from then on, at every node of the region', () => {
      const world = settled({
        spec: replicated(REGIONS, 2),
        delayMs: (a, b) => (a.startsWith('oregon') === b.startsWith('oregon') ? 1 : 40),
      });
      const [cause, effect] = [keyIn(world, 0, 'cause'), keyIn(world, 1, 'effect')];
      const alice = new OperationClient(world, 'virginia-1');
      const bobs = REGIONS.flatMap((region) => [`${region}-1`, `${region}-2`]).map(
        (n) => new OperationClient(world, n),
      );
      for (let round = 1; round <= 4; round++) {
        alice.put(cause, String(round));
        alice.put(effect, String(round));
        for (let step = 0; step < 12; step++) {
          for (const bob of bobs) {
            const seen = Number(bob.get(effect) ?? 0);
            expect(Number(bob.get(cause) ?? 0)).toBeGreaterThanOrEqual(seen);
          }
          world.run(7);
        }
      }
    });

    it('a session reads its own writes, and never an older version than before', () => {
      const world = settled({ spec: replicated(REGIONS, 2), delayMs: () => 15 });
      const key = keyIn(world, 1);
      const [own, other] = [new OperationClient(world, 'virginia-1'), new OperationClient(world, 'oregon-2')];
      let before = 0;
      for (let i = 0; i < 8; i++) {
        const ts = own.put(key, `own ${i}`);
        other.put(key, `other ${i}`);
        const version = own.getVersion(key)!;
        expect(version.ts).toBeGreaterThanOrEqual(Math.max(ts, before));
        before = version.ts;
        const [value] = own.rot(key, keyIn(world, 2));
        expect(value).not.toBeNull();
        world.run(11);
      }
    });

    it('a write is visible everywhere after some time, also when nothing else is written', () => {
      const world = settled();
      const keys = [0, 1, 2, 3].map((partition) => keyIn(world, partition));
      const client = new OperationClient(world, 'oregon-1');
      for (const key of keys) client.put(key, 'x');
      world.run(300);
      for (const node of NODES) {
        const reader = new OperationClient(world, node);
        expect(reader.rot(...keys)).toEqual(['x', 'x', 'x', 'x']);
        expect(reader.get(keys[3]!)).toBe('x');
      }
    });

    it('a session that moves waits until the region has what it has seen, within a bound (D9)', () => {
      const world = settled({ settings: { snapshotWaitMs: 300 } });
      const key = keyIn(world, 0);
      const client = new OperationClient(world, 'virginia-1');
      for (const other of ['oregon-1', 'ireland-1']) world.cut('virginia-1', other);
      client.put(key, 'mine');
      client.move('oregon-1');
      const { code } = world.call('oregon-1', client.session.get(key), 'Refused');
      expect(code).toBe('SNAPSHOT_UNAVAILABLE');
      client.session.refused();
      for (const other of ['oregon-1', 'ireland-1']) world.heal('virginia-1', other);
      expect(client.get(key)).toBe('mine');
      expect(client.rot(key, keyIn(world, 1))).toEqual(['mine', null]);
      expect(world.counted('oregon-1', 'arrivals')).toBe(2);
    });

    it('a session that moves and writes there waits too: no session sees the effect without its cause (D9)', () => {
      const world = settled({ delayMs: (a, b) => (a === b ? 0 : 50) });
      const [cause, effect] = [keyIn(world, 0), keyIn(world, 1)];
      const alice = new OperationClient(world, 'virginia-1');
      alice.put(cause, 'cause');
      alice.move('oregon-1');
      alice.put(effect, 'effect');
      const bob = new OperationClient(world, 'oregon-1');
      if (bob.get(effect) === 'effect') expect(bob.get(cause)).toBe('cause');
      world.run(400);
      expect(bob.rot(cause, effect)).toEqual(['cause', 'effect']);
    });

    it('a session that has moved sees its versions at every node of the region, also at one that receives stable times late (D9)', () => {
      const world = settled({ spec: replicated(REGIONS, 2) });
      const key = keyIn(world, 1);
      expect(world.topology.replicaNode(1, 'oregon')).toBe('oregon-2');
      world.filter = ({ to, message }) => !(to.node === 'oregon-2' && message.type === 'GossipDown');
      const client = new OperationClient(world, 'virginia-1');
      client.put(key, 'mine');
      client.move('oregon-1');
      expect(client.get(key)).toBe('mine');
      expect(client.rot(key, keyIn(world, 0))).toEqual(['mine', null]);
    });

    it('a node that starts again shows what is universally stable, before it has any other times of its region (D7)', () => {
      const world = settled({ spec: replicated(REGIONS, 2) });
      const key = keyIn(world, 1);
      expect(world.topology.replicaNode(1, 'oregon')).toBe('oregon-2');
      const ts = new OperationClient(world, 'virginia-1').put(key, 'stable');
      world.until(() => world.ust() > ts);
      world.run(300);
      world.filter = ({ to, message }) => !(to.node === 'oregon-2' && message.type === 'GossipDown');
      world.crash('oregon-2');
      world.restart('oregon-2');
      const client = new OperationClient(world, 'oregon-2');
      expect(client.get(key)).toBe('stable');
      expect(client.rot(key, keyIn(world, 0))).toEqual(['stable', null]);
    });

    it('a session that claims to have seen a future timestamp is refused (T1)', () => {
      const world = settled();
      const far = world.node('virginia-1').parts.clock.latest(world.now, 3_600_000);
      const request = new OperationClient(world, 'virginia-1').session.get(keyIn(world, 0));
      const answer = world.call('virginia-1', { ...request, seen: seenUpTo(far, world) }, 'Refused');
      expect(answer.code).toBe('TIMESTAMP_IN_FUTURE');
    });

    it('a session continues from the state that another one has exported (D9)', () => {
      const world = settled();
      const key = keyIn(world, 0);
      const client = new OperationClient(world, 'virginia-1');
      client.put(key, 'mine');
      const state = client.session.export();
      const session = new OperationSession('imported-session-01', 'oregon', client.session.rules, state);
      expect(new OperationClient(world, 'oregon-1', session).get(key)).toBe('mine');
    });

    it('what a session has seen never falls', () => {
      fc.assert(
        fc.property(fc.array(fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9))), (answers) => {
          let seen: readonly number[] = [];
          for (const answer of answers) {
            const next = entrywiseMax(seen, answer);
            expect(next.every((ts, i) => ts >= Math.max(seen[i] ?? 0, answer[i]!))).toBe(true);
            seen = next;
          }
        }),
        RUNS,
      );
    });
  });

  if (protocol.rots === false) return;
  describe('what a read-only transaction shows', () => {
    it('a read-only transaction never shows an effect without its cause: album and access list', () => {
      const world = settled({ delayMs: (a, b) => (a === 'oregon-1' || b === 'oregon-1' ? 80 : 1) });
      const [acl, album] = [keyIn(world, 0, 'acl'), keyIn(world, 4, 'album')];
      const alice = new OperationClient(world, 'virginia-1');
      alice.put(acl, 'public');
      alice.put(album, 'empty');
      alice.put(acl, 'private');
      const last = alice.put(album, 'photo');
      const bobs = NODES.map((node) => new OperationClient(world, node));
      while (world.ust() < last) {
        for (const bob of bobs) {
          const [seenAcl, seenAlbum] = bob.rot(acl, album);
          if (seenAlbum === 'photo') expect(seenAcl).toBe('private');
          if (seenAcl === 'private') expect(seenAlbum).not.toBeNull();
        }
        world.run(3);
      }
      world.run(200);
      for (const bob of bobs) expect(bob.rot(acl, album)).toEqual(['private', 'photo']);
    });

    it('a ROT that reaches one partition before a PUT and the other after its effect shows neither, or both (Contrarian, Fig. 1)', () => {
      let slow = false;
      const delayMs = (from: NodeId, to: NodeId) => (slow && from === 'virginia-1' && to === 'virginia-2' ? 60 : 1);
      const world = settled({ spec: replicated(REGIONS, 2), delayMs });
      const [x, y] = [keyIn(world, 0, 'x'), keyIn(world, 1, 'y')];
      const c2 = new OperationClient(world, 'virginia-2');
      c2.put(x, 'X0');
      const y0 = c2.put(y, 'Y0');
      world.until(() => world.ust() > y0);
      world.run(50);
      // C1 chooses its snapshot at virginia-1 and reads x there; its request for y is in transit for long.
      const c1 = new OperationClient(world, 'virginia-1');
      const request = c1.session.rot([x, y]);
      slow = true;
      const ref = world.ask('virginia-1', request);
      world.run(6);
      slow = false;
      c2.put(x, 'X1');
      c2.put(y, 'Y1');
      world.until(() => world.answer('virginia-1', ref) !== undefined);
      const answer = world.answer('virginia-1', ref)!;
      expect(answer).toMatchObject({ versions: between.map((value) => ({ value })) });
    });
  });
}

const seenEverything = (ts: Timestamp, world: OperationWorld): Deps =>
  new Array(world.node('virginia-1').parts.coordinator.rules.entries.seen).fill(ts);
