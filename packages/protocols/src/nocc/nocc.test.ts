/** NoCC breaks the guarantees that it does not claim, and keeps those that it claims (PaRiS paper, section V). */
import type { Belongs, VersionReader } from '@isochron/core';
import { blockingIn } from '@isochron/testing/world/blocking';
import { keyIn, TestClient } from '@isochron/testing/world/clients';
import { World, type WorldOptions } from '@isochron/testing/world/world';
import type { NodeState } from '../kernel/node-state.js';
import { VersionVector } from '../kernel/replication/version-vector.js';
import type { ReplicaView } from '../kernel/transactions/snapshots.js';
import { nocc } from './nocc.js';
import { noccSession } from './session.js';

function settled(options: WorldOptions = {}): World {
  const world = new World({ protocol: nocc, session: noccSession, ...options });
  world.run(100);
  return world;
}

const FAR_OREGON = (a: string, b: string) => (a === 'oregon-1' || b === 'oregon-1' ? 80 : 1);

describe('NoCC: what it does not claim', () => {
  it('NoCC does not read from a causally consistent snapshot: the photo is seen with the old access list', () => {
    const world = settled({ delayMs: (a, b) => (a.startsWith('v') && b.startsWith('o') ? 80 : 1) });
    const [acl, album] = [keyIn(world, 0, 'acl'), keyIn(world, 2, 'album')];
    const alice = new TestClient(world, 'virginia-1');
    alice.write({ [acl]: 'public' });
    world.run(300);
    alice.write({ [acl]: 'private' });
    alice.write({ [album]: 'secret photo' });
    const eve = new TestClient(world, 'oregon-1');
    const seen: string[] = [];
    for (let i = 0; i < 100; i++) {
      seen.push(eve.readOnce(acl, album).join(', '));
      world.run(1);
    }
    expect(seen).toContain('public, secret photo');
    expect(seen.at(-1)).toBe('private, secret photo');
  });

  it('NoCC shows a transaction in parts', () => {
    const world = settled({ delayMs: FAR_OREGON });
    const keys = [keyIn(world, 1), keyIn(world, 2)];
    new TestClient(world, 'virginia-1').write({ [keys[0]!]: '1', [keys[1]!]: '1' });
    const reader = new TestClient(world, 'ireland-1');
    const sizes = new Set<number>();
    for (let i = 0; i < 300; i++) {
      sizes.add(new Set(reader.readOnce(...keys)).size);
      world.run(1);
    }
    expect([...sizes].sort()).toEqual([1, 2]);
    expect(reader.readOnce(...keys)).toEqual(['1', '1']);
  });

  it('NoCC does not show a session its own writes when it reads from another replica', () => {
    const world = settled({ delayMs: () => 40 });
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    client.write({ [key]: '1' });
    client.node = 'oregon-1';
    expect(client.readOnce(key)).toEqual([null]);
    world.run(200);
    expect(client.readOnce(key)).toEqual(['1']);
  });
});

describe('NoCC: what it claims', () => {
  it('NoCC returns the latest item version that has arrived, and never waits', () => {
    const world = settled({ delayMs: FAR_OREGON });
    const [here, there] = [keyIn(world, 0), keyIn(world, 1)];
    world.filter = ({ message }) => message.type !== 'CommitTx';
    const writer = new TestClient(world, 'ireland-1');
    writer.write({ [here]: '1', [there]: '1' }); // stays prepared for a while
    const at = world.now;
    expect(new TestClient(world, 'virginia-1').readOnce(here)).toEqual([null]);
    expect(world.now - at).toBe(0);
    world.run(5_000);
    expect(new TestClient(world, 'virginia-1').readOnce(here)).toEqual(['1']);
    expect(blockingIn(world)).toEqual({ reads: 0, ms: 0 });
  });

  it('NoCC does not have the start phase: it reads and writes without a transaction that was opened', () => {
    const world = settled();
    const key = keyIn(world, 0);
    const attemptRegions = ['virginia'];
    const writes = [{ key, value: '1' }];
    const ids = { txId: 'nocc-session-0001.0', hwt: 0, sentAfter: 0, principal: 'anonymous' };
    world.call('virginia-1', { type: 'CommitReq', ...ids, snapshot: 0, attemptRegions, writes }, 'CommitResp');
    world.run(50);
    const { versions } = world.call(
      'virginia-1',
      { type: 'ReadReq', txId: null, ust: 0, at: null, keys: [key] },
      'ReadResp',
    );
    expect(versions[0]?.value).toBe('1');
    expect(world.node('virginia-1').parts.coordinator.counters.started).toBe(0);
  });

  it('NoCC provides transaction atomicity: a transaction that one cohort refuses writes nothing anywhere', () => {
    const world = settled({
      settings: { maxClockDriftMs: 2_000 },
      skewMs: (node) => (node === 'oregon-1' ? 9_000 : 0),
    });
    const far = world.topology.partitions.find(({ id }) => world.topology.cohort(id, 'virginia').region === 'oregon')!;
    const [a, b] = [keyIn(world, 0), keyIn(world, far.id)];
    const writer = new TestClient(world, 'virginia-1');
    const tx = writer.begin();
    for (const key of [a, b]) tx.write(key, '1');
    expect(world.call('virginia-1', writer.commitRequest(tx))).toMatchObject({ type: 'Refused', code: 'CLOCK_DRIFT' });
    world.run(3_000);
    for (const node of world.topology.nodes) {
      expect(new TestClient(world, node).readOnce(a, b)).toEqual([null, null]);
    }
  });

  it('NoCC implements the last-writer-wins rule for convergence', () => {
    const world = settled({ delayMs: () => 30 });
    const key = keyIn(world, 0);
    const written = world.topology.nodes.map((node) => {
      return { node, ...new TestClient(world, node).write({ [key]: node }) };
    });
    world.run(300);
    const winner = written.sort((a, b) => b.ct - a.ct || (a.txId < b.txId ? 1 : -1))[0]!;
    for (const node of world.topology.nodes) expect(new TestClient(world, node).readOnce(key)).toEqual([winner.node]);
  });

  it('NoCC skips versions that are not on the disk yet (D1)', () => {
    const version = (ts: number) => ({ ts, txId: `t${ts}`, region: 'oregon', value: String(ts) });
    const vv = new VersionVector([
      ['virginia', 0],
      ['oregon', 10],
    ]);
    const reader = { find: (_p: number, _k: string, belongs: Belongs) => [version(20), version(10)].find(belongs) };
    const { read, obstacle } = nocc.reading(
      { partition: 0, replication: { vv } } as ReplicaView,
      { reader: reader as VersionReader } as NodeState,
    );
    vv.raise('oregon', 20, 7);
    expect(obstacle({ ts: 1 }, 0)).toBeUndefined();
    expect(read('default/x', { ts: 1 })?.ts).toBe(10);
    vv.persisted(7);
    expect(read('default/x', { ts: 1 })?.ts).toBe(20);
  });

  it('NoCC keeps a stable time, so that an old commit is distinguished from a new one (D5)', () => {
    const world = settled();
    const client = new TestClient(world, 'virginia-1');
    const { ct } = client.write({ [keyIn(world, 0)]: '1' });
    world.until(() => world.ust() >= ct);
    client.begin();
    expect(client.session.ust).toBeGreaterThanOrEqual(ct);
    expect(client.session.cacheSize).toBe(0);
  });
});
