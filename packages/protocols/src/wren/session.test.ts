import fc from 'fast-check';
import { Session } from '../kernel/transactions/session.js';
import type { Snapshot } from '../kernel/transactions/snapshots.js';
import { wrenSession } from './session.js';
import { type Parts, partsOf, reachOf, snapshotOf } from './snapshot.js';

const VIRGINIA = 1;
const OREGON = 2;

const at = (lt: number, rt: number, place = VIRGINIA, hwt = 0): Snapshot => snapshotOf({ lt, rt, place, hwt });

function committed(session: Session, ct: number, deps: readonly number[] | undefined, key = 'x', value = '1'): void {
  const tx = session.begin();
  tx.write(key, value);
  session.commit(tx);
  session.committed(ct, deps);
}

describe('WrenSession (Algorithm 1)', () => {
  it('a session uses a cache entry exactly when its ct lies above lt (Alg. 1 line 6)', () => {
    const session = new Session('s', wrenSession);
    session.observe(at(5, 3));
    committed(session, 10, [3]);
    const below = session.begin();
    session.started(below, 9, [8, VIRGINIA, 0]);
    expect(below.lookup('x')).toEqual({ value: '1', ts: 10 });
    const from = session.begin();
    session.started(from, 10, [8, VIRGINIA, 0]);
    expect(from.lookup('x')).toBeUndefined();
    for (const tx of [below, from]) session.end(tx);
    expect(session.cacheSize).toBe(0);
  });

  it('a session keeps the greater of both times of its region, and the time of its last write', () => {
    const session = new Session('s', wrenSession);
    session.observe(at(9, 4));
    committed(session, 12, [4]);
    session.observe(at(10, 3));
    expect(session.seen).toEqual(at(10, 4, VIRGINIA, 12));
    expect(session.export()).toMatchObject({ ust: 10, deps: [4, VIRGINIA, 12], hwt: 12 });
    expect(new Session('t', wrenSession, session.export()).seen).toEqual(session.seen);
  });

  it('a session drops own writes that are stable, also when it never reads', () => {
    const session = new Session('s', wrenSession);
    session.stable(7);
    expect(session.seen).toEqual({ ts: 0 }); // no region yet
    committed(session, 12, [0, VIRGINIA]);
    session.stable(11);
    expect([session.cacheSize, partsOf(session.seen).lt]).toEqual([1, 11]);
    session.stable(12);
    expect([session.cacheSize, session.seen]).toEqual([0, at(12, 0, VIRGINIA, 12)]);
    session.stable(9);
    expect(session.seen).toEqual(at(12, 0, VIRGINIA, 12));
  });

  it('a session never takes the maximum of the times of two regions: the snapshot that includes the other one stands (D9)', () => {
    const session = new Session('s', wrenSession);
    session.observe(at(9, 4));
    committed(session, 12, [4]);
    session.observe(at(20, 13, OREGON));
    expect(session.seen).toEqual(at(20, 13, OREGON));
    // A late answer of the previous region.
    session.observe(at(11, 6));
    expect(session.seen).toEqual(at(20, 13, OREGON));
    // What neither includes belongs to no region: everything up to one time.
    session.observe(at(25, 14));
    expect(partsOf(session.seen)).toEqual({ lt: 25, rt: 25, place: 0, hwt: 25 });
  });

  it('a commit depends on everything once one of its session before it has had another home (W11)', () => {
    const session = new Session('s', wrenSession);
    session.observe(at(9, 4));
    const all = [session.begin(), session.begin(), session.begin()];
    for (const tx of all) {
      session.started(tx, 9, [4, VIRGINIA, 0]);
      tx.write('x', '1');
    }
    expect(session.commit(all[0]!)).toMatchObject({ snapshot: 9, deps: [4, VIRGINIA, 0], hwt: 0 });
    session.committed(11, [4]);
    expect(session.commit(all[1]!)).toMatchObject({ snapshot: 9, deps: [4, VIRGINIA, 0], hwt: 11 });
    session.committed(12, [11, OREGON]);
    expect(session.commit(all[2]!)).toMatchObject({ snapshot: 12, deps: [12, 0, 12], hwt: 12 });
  });

  it('a commit of another home than its snapshot belongs to no region, and one of a new session to its home (D9)', () => {
    const moved = new Session('s', wrenSession);
    moved.observe(at(9, 4));
    committed(moved, 12, [9, OREGON]);
    expect(partsOf(moved.seen)).toEqual({ lt: 12, rt: 12, place: 0, hwt: 12 });
    const fresh = new Session('t', wrenSession);
    committed(fresh, 12, [0, OREGON]);
    expect(partsOf(fresh.seen)).toEqual({ lt: 0, rt: 0, place: OREGON, hwt: 12 });
    expect(fresh.cacheSize).toBe(1);
  });

  it('a commit has the home of the snapshot that it was sent with, whatever the session has seen since (W11)', () => {
    const session = new Session('s', wrenSession);
    session.observe(at(30, 20, OREGON));
    const writes = [{ key: 'x', value: '1' }];
    session.learn({ txId: 't', snapshot: 12, deps: [10, VIRGINIA, 0], writes }, { ts: 40, deps: [10] });
    expect(partsOf(session.seen)).toEqual({ lt: 40, rt: 40, place: 0, hwt: 40 });
  });

  it('a commit with an unknown home belongs to no region', () => {
    const session = new Session('s', wrenSession);
    session.observe(at(9, 4));
    committed(session, 12, undefined);
    expect(partsOf(session.seen)).toEqual({ lt: 12, rt: 12, place: 0, hwt: 12 });
  });

  it('a commit that depends on more from elsewhere than its session has seen belongs to no region (D9)', () => {
    for (const rdt of [4, 5]) {
      const session = new Session('s', wrenSession);
      session.observe(at(9, 4));
      committed(session, 12, [rdt, VIRGINIA]);
      expect(session.seen).toEqual(rdt > 4 ? at(12, 12, 0, 12) : at(9, 4, VIRGINIA, 12));
    }
  });

  it('a commit without writes adds nothing to its snapshot', () => {
    const session = new Session('s', wrenSession);
    session.observe(at(9, 4));
    const tx = session.begin();
    session.started(tx, 11, [6, VIRGINIA, 0]);
    session.commit(tx);
    session.committed(11, [6, VIRGINIA, 0]);
    expect(session.seen).toEqual(at(11, 6));
  });

  it('the next snapshot includes all that a session has seen, in whatever regions and order (any two)', () => {
    const time = fc.nat(12);
    const seen: fc.Arbitrary<Parts> = fc
      .record({ lt: time, gap: time, place: fc.nat(3), hwt: time })
      .map(({ lt, gap, place, hwt }) => ({ lt, rt: place === 0 ? lt : Math.max(0, lt - gap), place, hwt }));
    fc.assert(
      fc.property(seen, seen, seen, (a, b, next) => {
        const merged = partsOf(wrenSession.merge(snapshotOf(a), snapshotOf(b)));
        const both = [a, b, partsOf(wrenSession.merge(snapshotOf(b), snapshotOf(a)))];
        expect(reachOf(merged)).toBeGreaterThanOrEqual(Math.max(reachOf(a), reachOf(b)));
        if (!serves(next, merged)) return;
        for (const part of both) expect({ next, part, has: contains(next, part) }).toEqual({ next, part, has: true });
      }),
      { numRuns: 3_000 },
    );
  });
});

/** Whether a coordinator may assign the snapshot of its place to a session that has seen that much. */
const serves = (next: Parts, seen: Parts): boolean =>
  next.place === seen.place && next.place !== 0
    ? next.lt >= seen.lt && next.rt >= seen.rt
    : Math.min(next.lt, next.rt) >= reachOf(seen);

/**
 * Whether a snapshot includes every version, of any region, of another one. Own writes above it are in the cache of its
 * region alone.
 */
function contains(next: Parts, seen: Parts): boolean {
  const upTo = (parts: Parts, region: number) => (parts.place === region || parts.place === 0 ? parts.lt : parts.rt);
  const regions = [1, 2, 3].every((region) => upTo(next, region) >= upTo(seen, region));
  const written = next.place === seen.place || Math.min(next.lt, next.rt) >= seen.hwt;
  return regions && written;
}
