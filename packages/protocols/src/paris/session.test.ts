import type { Version } from '@isochron/core';
import fc from 'fast-check';
import { Session } from '../kernel/transactions/session.js';
import { parisSession } from './session.js';

const version = (ts: number, value: string | null): Version => ({ ts, txId: `other.${ts}`, region: 'r', value });

function committed(session: Session, ct: number, writes: Record<string, string | null>): void {
  const tx = session.begin();
  for (const [key, value] of Object.entries(writes)) tx.write(key, value);
  session.commit(tx);
  session.committed(ct);
}

describe('ParisSession (Algorithm 1)', () => {
  it("a session uses a cache entry exactly when its ct lies above this transaction's snapshot (P7)", () => {
    const session = new Session('s', parisSession);
    committed(session, 10, { x: 'mine' });
    const below = session.begin();
    session.started(below, 9);
    expect(below.lookup('x')).toEqual({ value: 'mine', ts: 10 });
    expect(below.record('x', version(5, 'old'))).toEqual({ value: 'mine', ts: 10 });
    const at = session.begin();
    session.started(at, 10);
    expect(at.lookup('x')).toBeUndefined();
    expect(at.record('x', version(10, 'newer by another'))).toEqual({ value: 'newer by another', ts: 10 });
  });

  it('a transaction sees the cache as it was at its start (P7)', () => {
    const session = new Session('s', parisSession);
    committed(session, 10, { x: '1' });
    const open = session.begin();
    session.started(open, 5);
    committed(session, 12, { x: '2', y: '2' });
    expect(open.lookup('x')).toEqual({ value: '1', ts: 10 });
    expect(open.lookup('y')).toBeUndefined();
    const next = session.begin();
    session.started(next, 6);
    expect(next.lookup('x')).toEqual({ value: '2', ts: 12 });
  });

  it('a session keeps what an open transaction needs when the stable time passes it (PS3)', () => {
    const session = new Session('s', parisSession);
    committed(session, 10, { x: '1' });
    const open = session.begin();
    session.started(open, 5);
    session.observe({ ts: 100 });
    expect(open.lookup('x')).toEqual({ value: '1', ts: 10 });
    session.end(open);
    expect(session.cacheSize).toBe(0);
  });

  it('a session has one commit in flight (P8)', () => {
    const session = new Session('s', parisSession);
    const [a, b] = [session.begin(), session.begin()];
    a.write('x', '1');
    b.write('x', '2');
    session.commit(a);
    expect(() => session.commit(b)).toThrow('one commit in flight');
    session.committed(7);
    expect(session.commit(b)).toMatchObject({ hwt: 7 });
  });

  it('a transaction keeps absent keys and tombstones for repeatable reads (P7)', () => {
    const session = new Session('s', parisSession);
    const tx = session.begin();
    session.started(tx, 5);
    expect(tx.record('x', null)).toEqual({ value: null, ts: null });
    expect(tx.record('x', version(4, 'late answer of another replica'))).toEqual({ value: null, ts: null });
    expect(tx.record('y', version(3, null))).toEqual({ value: null, ts: 3 });
    expect(tx.lookup('y')).toEqual({ value: null, ts: 3 });
  });

  it('a refused commit leaves no trace in the cache', () => {
    const session = new Session('s', parisSession);
    const tx = session.begin();
    tx.write('x', '1');
    session.commit(tx);
    session.refused();
    expect([session.hwt, session.cacheSize]).toEqual([0, 0]);
  });

  it('a session continues elsewhere under a new id with everything it has seen (D9, P8)', () => {
    const session = new Session('one', parisSession);
    session.observe({ ts: 5 });
    committed(session, 10, { x: '1' });
    const next = new Session('two', parisSession, session.export());
    expect([next.ust, next.hwt]).toEqual([5, 10]);
    expect(next.nextTxId()).not.toBe(session.nextTxId());
    const tx = next.begin();
    next.started(tx, 6);
    expect(tx.lookup('x')).toEqual({ value: '1', ts: 10 });
  });

  it('a session gives the parameters of a commit that follows the one in flight (P8)', () => {
    const session = new Session('s', parisSession);
    const [a, b] = [session.begin(), session.begin()];
    a.write('x', '1');
    b.write('y', '1');
    session.commit(a);
    const attempt = session.attempt(b);
    expect(attempt).toMatchObject({ txId: b.id, hwt: 0, writes: [{ key: 'y', value: '1' }] });
    session.committed(10);
    expect(session.commit(b)).toEqual({ ...attempt, hwt: 10 });
  });

  it('a session detached from its commit in flight keeps what it has seen and no longer follows it; a later commit may begin', () => {
    const session = new Session('first-session-of-two', parisSession);
    committed(session, 5, { x: '1' });
    const pending = session.begin();
    pending.write('x', '2');
    session.commit(pending);
    const before = session.export();
    session.detach('second-session-of-two');
    expect(session.export()).toEqual(before);
    const tx = session.begin();
    expect(tx.id).toBe('second-session-of-two.0');
    session.started(tx, 3);
    expect(tx.lookup('x')).toEqual({ value: '1', ts: 5 });
    tx.write('y', '1');
    expect(session.commit(tx)).toMatchObject({ txId: tx.id, hwt: 5 });
    expect(() => new Session('s', parisSession).detach('t')).toThrow('no commit is in flight');
  });

  it("a snapshot below the session's last one is an error of the coordinator", () => {
    const session = new Session('s', parisSession);
    session.observe({ ts: 9 });
    expect(() => session.started(session.begin(), 8)).toThrow('below');
  });

  it('a session reads its own last write of a key, whatever was pruned when (read your writes)', () => {
    const step = fc.record({
      write: fc.boolean(),
      lag: fc.integer({ min: 0, max: 6 }),
      key: fc.constantFrom('x', 'y'),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const session = new Session('s', parisSession);
        const store = new Map<string, Version[]>();
        const last = new Map<string, string>();
        let ct = 0;
        steps.forEach(({ write, lag, key }, i) => {
          if (write) {
            ct++;
            committed(session, ct, { [key]: `v${i}` });
            store.set(key, [...(store.get(key) ?? []), version(ct, `v${i}`)]);
            last.set(key, `v${i}`);
          }
          const tx = session.begin();
          session.started(tx, Math.max(session.ust, ct - lag));
          const served = (store.get(key) ?? []).filter((v) => v.ts <= tx.snapshot!).at(-1) ?? null;
          expect((tx.lookup(key) ?? tx.record(key, served)).value).toBe(last.get(key) ?? null);
          session.end(tx);
        });
      }),
    );
  });
});
