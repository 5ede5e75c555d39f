import { Session, type SessionState, TRANSACTION_PROTOCOLS } from '@isochron/protocols';
import { BoundedMap } from './bounded-map.js';
import { KeptSession } from './kept-session.js';

const LIMITS = { maxSessionBytes: 10_000 };
const openWith = (create: (id: string, state?: SessionState) => Session): KeptSession =>
  new KeptSession('s', { seen: { ts: 0 }, hwt: 0, complete: 0 }, LIMITS, create);
const { paris, wren } = TRANSACTION_PROTOCOLS;
const open = (): KeptSession => openWith((id, state) => new Session(id, paris.session, state));
const write = (ts: number, key: string, txId = `t${ts}`) => ({
  txId,
  writes: [{ key, value: `${key}@${txId}` }],
  commit: { ts },
  sent: { ts: 0 },
});
const cts = (kept: KeptSession) => kept.entries().map(({ ct }) => ct);
const copy = (entries: KeptSession, changes: number) => ({
  seen: entries.seen,
  hwt: entries.hwt,
  complete: entries.completeElsewhere,
  changes,
  entries: entries.entries(),
});

describe('a kept session', () => {
  it('a kept session keeps the newest write of a key, in whatever order commits finish', () => {
    const kept = open();
    for (const ts of [20, 10]) kept.committed(write(ts, 'k'));
    expect(kept.entries()).toMatchObject([{ ct: 20, value: 'k@t20' }]);
    kept.committed(write(20, 'k', 'z'));
    expect(kept.entries()).toMatchObject([{ ct: 20, value: 'k@z' }]);
  });

  it('a kept session counts commits and merges, so that a token names what the cache holds', () => {
    const [kept, other] = [open(), open()];
    kept.committed(write(10, 'a'));
    other.committed(write(20, 'b'));
    kept.merge(copy(other, 1));
    expect([kept.changes, kept.contained]).toEqual([2, 1]);
  });

  it('a kept session has the own writes of both after a merge, and the newer one of each key', () => {
    const [kept, other] = [open(), open()];
    for (const session of [kept, other]) session.committed(write(10, 'a'));
    kept.committed(write(30, 'b'));
    other.committed(write(20, 'b'));
    other.committed(write(40, 'c'));
    kept.merge(copy(other, 3));
    expect(cts(kept)).toEqual([10, 30, 40]);
    expect(kept.hwt).toBe(40);
  });

  it('a merged session has written in the region of the copy, under a protocol whose sessions name their region', () => {
    const [kept, other] = [0, 1].map(() => openWith((id, state) => new Session(id, wren.session, state))) as [
      KeptSession,
      KeptSession,
    ];
    const inRegion = { ts: 5, deps: [4, 1, 0] };
    for (const session of [kept, other]) session.observe(inRegion, 0);
    other.committed({ ...write(20, 'a'), commit: { ts: 20, deps: [0, 1] }, sent: inRegion });
    kept.merge(copy(other, 1));
    // In another region, a snapshot that has everything of that region up to 30 may lack the write.
    expect(kept.seen).toEqual({ ts: 5, deps: [4, 1, 20] });
  });

  it('a kept session takes a commit with the snapshot that it was sent with, whatever it has seen since', () => {
    const kept = openWith((id, state) => new Session(id, wren.session, state));
    // Of another region.
    kept.observe({ ts: 30, deps: [20, 2, 0] }, 0);
    kept.committed({ ...write(40, 'a'), commit: { ts: 40, deps: [10] }, sent: { ts: 12, deps: [10, 1, 15] } });
    expect(kept.seen).toEqual({ ts: 40, deps: [40, 0, 40] });
  });

  it('a kept session is incomplete up to the gap of what was merged', () => {
    const kept = open();
    kept.merge({ seen: { ts: 0 }, hwt: 40, complete: 30, changes: 1, entries: [] });
    expect(kept.complete).toBe(30);
  });

  it('a kept session is incomplete elsewhere up to what its own snapshots show, and complete here', () => {
    const kept = open();
    for (const ts of [10, 20, 30]) kept.committed(write(ts, `k${ts}`));
    kept.observe({ ts: 0 }, 25);
    expect(cts(kept)).toEqual([30]);
    expect([kept.complete, kept.completeElsewhere]).toEqual([0, 20]);
  });
});

describe('a bounded map', () => {
  it('a bounded map drops the entry that was not used for longest', () => {
    const map = new BoundedMap<string, number>({ max: 2 });
    map.set('a', 1);
    map.set('b', 2);
    map.get('a');
    map.set('c', 3);
    expect([...map.entries()]).toEqual([
      ['a', 1],
      ['c', 3],
    ]);
  });

  it('a bounded map drops entries for a large one, and stores none that is larger than the map', () => {
    const map = new BoundedMap<string, number>({ max: 10, maxSize: 10, sizeOf: (size) => size });
    for (const size of [4, 5, 6, 11]) map.set(`s${size}`, size);
    expect([...map.entries()]).toEqual([['s6', 6]]);
  });
});
