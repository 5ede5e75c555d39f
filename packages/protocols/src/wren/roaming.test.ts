/** Claims about sessions, transactions and commits that leave their region (section II-A footnote 1; D4, D8, D9). */

import { keyIn, TestClient } from '@isochron/testing/world/clients';
import type { World } from '@isochron/testing/world/world';
import { everywhereOn, times, wrenWorld } from '@isochron/testing/world/wren-world';
import type { ClientResponse } from '../kernel/transactions/messages.js';
import { Session } from '../kernel/transactions/session.js';
import { wrenSession } from './session.js';
import { partsOf } from './snapshot.js';

const slow = () => wrenWorld(everywhereOn(3, 1, 2), { delayMs: () => 60 });

/** Writes without a start, in one round trip (P11). */
function writeOnce(client: TestClient, key: string, value: string): Extract<ClientResponse, { type: 'CommitResp' }> {
  const { session } = client;
  const tx = session.begin();
  tx.write(key, value);
  const answer = client.world.call(client.node, { ...client.commitRequest(tx), snapshot: tx.seen.ts }, 'CommitResp');
  session.committed(answer.ct, answer.deps);
  return answer;
}

/** A pair of versions of one key at a node, as their dependency times. */
const depsIn = (world: World, node: string, key: string) =>
  [...world.node(node).store.chains]
    .filter(([name]) => name.endsWith(`|${key}`))
    .flatMap(([, chain]) => chain.map((v) => v.deps));

describe('Wren: a session moves', () => {
  it('a session that moves waits in the new region until all that it has seen and written is installed there (footnote 1)', () => {
    const world = slow();
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const client = new TestClient(world, 'virginia-1');
    client.write({ [x]: '1' });
    const { ct } = client.write({ [y]: '2' });
    const start = world.now;
    client.node = 'oregon-1';
    expect(client.readOnce(x, y)).toEqual(['1', '2']);
    expect(world.now - start).toBeGreaterThan(50);
    expect(times(world, 'oregon-1').rst).toBeGreaterThanOrEqual(ct);
    expect(partsOf(client.session.seen)).toMatchObject({ place: 2 });
    expect(client.session.cacheSize).toBe(0);
  });

  it('a session that moves waits for its reads of the new region, too, and never takes the lst of one region for that of another', () => {
    const world = slow();
    const key = keyIn(world, 0);
    const { ct } = new TestClient(world, 'virginia-1').write({ [key]: '1' });
    world.until(() => times(world, 'virginia-1').lst >= ct);
    const client = new TestClient(world, 'virginia-1');
    expect(client.readOnce(key)).toEqual(['1']);
    // Oregon's LST is above everything that the session has seen of virginia; it does not cover virginia's versions in
    // oregon.
    expect(times(world, 'oregon-1').lst).toBeGreaterThanOrEqual(ct);
    expect(times(world, 'oregon-1').rst).toBeLessThan(ct);
    client.node = 'oregon-1';
    expect(client.readOnce(key)).toEqual(['1']);
  });

  it('a session is refused with a code when the new region is cut off for too long, and goes on in its old region', () => {
    const world = wrenWorld(everywhereOn(2, 1, 1), { settings: { snapshotWaitMs: 300 } });
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    world.cut('virginia-1', 'oregon-1');
    client.write({ [key]: '1' });
    const { seen } = client.session;
    const request = { type: 'StartTxReq' as const, txId: 'session-0123456789.1', at: null };
    const refused = world.call('oregon-1', { ...request, ust: seen.ts, deps: seen.deps }, 'Refused');
    expect(refused.code).toBe('SNAPSHOT_UNAVAILABLE');
    expect(client.readOnce(key)).toEqual(['1']);
  });

  it('a session continues from its exported state: the state names the region (D9)', () => {
    const world = slow();
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    client.readOnce(key);
    client.write({ [key]: '1' });
    const state = client.session.export();
    expect(state.deps![1]).toBe(1);
    const again = new TestClient(world, 'ireland-1', new Session('another-session-00001', wrenSession, state));
    expect(again.readOnce(key)).toEqual(['1']);
  });

  it('a client can name the snapshot that it has seen, and gets it as it is named', () => {
    const world = slow();
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const client = new TestClient(world, 'virginia-1');
    client.readOnce(x);
    client.write({ [y]: '1' });
    const { ts: at, deps } = client.session.seen;
    expect(deps![2]).toBeGreaterThan(at);
    for (const node of ['virginia-1', 'oregon-1']) {
      const request = { type: 'ReadReq' as const, txId: null, ust: 0, at, deps, keys: [x] };
      expect(world.call(node, request, 'ReadResp')).toMatchObject({ snapshot: at, deps });
    }
  });

  it('a timestamp alone names everything up to it, from every region', () => {
    const world = slow();
    const key = keyIn(world, 0);
    const { ct } = new TestClient(world, 'virginia-1').write({ [key]: '1' });
    for (const node of world.nodes.keys()) {
      const read = (at: number | null, ust: number) =>
        world.call(node, { type: 'ReadReq', txId: null, ust, at, keys: [key] }, 'ReadResp').versions[0]?.value ?? null;
      expect([read(ct, 0), read(ct - 1, 0), read(null, ct)]).toEqual(['1', null, '1']);
    }
  });
});

describe('Wren: a transaction moves', () => {
  it('an open transaction goes on in another region, in the same snapshot, once that is installed there (D8)', () => {
    const world = slow();
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    new TestClient(world, 'virginia-1').write({ [x]: '1', [y]: '1' });
    world.run(20);
    const client = new TestClient(world, 'virginia-1');
    const tx = client.begin();
    expect(client.read(tx, x)).toEqual(['1']);
    new TestClient(world, 'oregon-1').write({ [y]: '2' });
    const resume = {
      type: 'StartTxReq' as const,
      txId: 'session-0123456789.1',
      ust: 0,
      at: tx.snapshot!,
      deps: tx.read.deps,
    };
    const early = world.ask('oregon-1', resume);
    world.run(5);
    expect(world.answer('oregon-1', early)).toBeUndefined();
    world.run(100);
    expect(world.answer('oregon-1', early)).toMatchObject({ type: 'StartTxResp', snapshot: tx.snapshot });
    world.crash('virginia-1');
    const request = {
      type: 'ReadReq' as const,
      txId: null,
      ust: 0,
      at: tx.snapshot!,
      deps: tx.read.deps,
      keys: [x, y],
    };
    const { snapshot, deps, versions } = world.call('oregon-1', request, 'ReadResp');
    expect([snapshot, deps]).toEqual([tx.snapshot, tx.read.deps]);
    expect(versions.map((version) => version?.value)).toEqual(['1', '1']);
  });

  it('a commit in another region depends on all that its session has seen and written (BDT)', () => {
    const world = slow();
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const client = new TestClient(world, 'virginia-1');
    const first = client.write({ [x]: '1' });
    client.node = 'oregon-1';
    const { ct } = writeOnce(client, y, '2');
    expect(ct).toBeGreaterThan(first.ct);
    world.until(() => times(world, 'oregon-1').lst >= ct, 40);
    expect(depsIn(world, 'oregon-1', y)).toEqual([[first.ct, 2]]);
    // No session sees the effect without its cause, and this one sees both.
    const eve = new TestClient(world, 'oregon-1');
    expect(eve.readOnce(x, y)).toEqual([null, null]);
    for (let i = 0; i < 40; i++, world.run(5)) {
      const [cause, effect] = eve.readOnce(x, y);
      if (effect !== null) expect(cause).toBe('1');
    }
    expect(client.readOnce(x, y)).toEqual(['1', '2']);
    expect(eve.readOnce(x, y)).toEqual(['1', '2']);
  });

  it('an own write in another region is not lost to a session that comes back at once', () => {
    const world = slow();
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const client = new TestClient(world, 'virginia-1');
    client.readOnce(x);
    client.node = 'oregon-1';
    writeOnce(client, y, '2');
    client.node = 'virginia-1';
    world.run(30); // virginia's LST has passed the write, and its RST has not
    expect(client.readOnce(x, y)).toEqual([null, '2']);
  });

  it('the first write of a new session does not wait, and its next read neither', () => {
    const world = slow();
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    writeOnce(client, key, '1');
    const start = world.now;
    expect(client.readOnce(key)).toEqual(['1']);
    expect(world.now - start).toBeLessThan(5);
  });

  it('the same commit sent again through another region is the same commit, with the same dependencies (D4)', () => {
    const world = slow();
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    const tx = client.begin();
    tx.write(key, '1');
    const [rt] = tx.read.deps!;
    const request = { ...client.commitRequest(tx), snapshot: tx.snapshot! };
    const { ct, deps } = world.call('virginia-1', request, 'CommitResp');
    const again = world.call('oregon-1', request, 'CommitResp');
    expect([again.ct, again.deps]).toEqual([ct, deps]);
    world.run(300);
    for (const node of world.nodes.keys()) expect(depsIn(world, node, key)).toEqual([[rt]]);
  });

  it('a commit that was done at its first home is answered with that one, whatever home its retry names (D4)', () => {
    const world = slow();
    const key = keyIn(world, 0);
    const client = new TestClient(world, 'virginia-1');
    const tx = client.begin();
    tx.write(key, '1');
    const request = { ...client.commitRequest(tx), snapshot: tx.snapshot! };
    const { ct, deps } = world.call('virginia-1', request, 'CommitResp');
    const again = world.call('oregon-1', { ...request, attemptRegions: ['virginia', 'oregon'] }, 'CommitResp');
    expect([again.ct, again.deps]).toEqual([ct, deps]);
    client.session.committed(again.ct, again.deps);
    expect(partsOf(client.session.seen)).toMatchObject({ place: 1, hwt: ct });
  });

  it('an attempt that avoids its home has another one: all its cohorts are in one region (D4)', () => {
    const world = slow();
    const keys = [keyIn(world, 0), keyIn(world, 1)];
    const client = new TestClient(world, 'virginia-1');
    const tx = client.begin();
    for (const key of keys) tx.write(key, '1');
    const request = { ...client.commitRequest(tx), snapshot: tx.snapshot!, avoids: [['virginia']] };
    const { ct, deps } = world.call('virginia-1', request, 'CommitResp');
    client.session.committed(ct, deps);
    expect(client.readOnce(...keys)).toEqual(['1', '1']);
    world.run(300);
    for (const node of world.nodes.keys())
      for (const key of keys) expect(depsIn(world, node, key)).toEqual([[Math.max(tx.snapshot!, request.hwt), 2]]);
  });

  it('a commit that gets another home as its next attempt depends on everything, and its session takes that over (D4, D9)', () => {
    const world = slow();
    const [x, y] = [keyIn(world, 0), keyIn(world, 1)];
    const client = new TestClient(world, 'virginia-1');
    client.write({ [x]: '0' });
    const tx = client.begin();
    for (const key of [x, y]) tx.write(key, '1');
    const request = { ...client.commitRequest(tx), snapshot: tx.snapshot!, attemptRegions: ['virginia', 'oregon'] };
    const { ct, deps } = world.call('oregon-1', request, 'CommitResp');
    client.session.committed(ct, deps);
    expect(depsIn(world, 'oregon-1', y)).toEqual([]);
    world.run(30);
    const rdt = Math.max(tx.snapshot!, request.hwt);
    expect(depsIn(world, 'oregon-1', y)).toEqual([[rdt, 2]]);
    expect(partsOf(client.session.seen)).toEqual({ lt: ct, rt: ct, place: 0, hwt: ct });
    expect(client.readOnce(x, y)).toEqual(['1', '1']);
  });
});
