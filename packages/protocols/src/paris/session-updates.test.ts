import { type Content, Update, type Version } from '@isochron/core';
import { Session } from '../kernel/transactions/session.js';
import { laidOver } from '../kernel/transactions/write-cache.js';
import { parisSession } from './session.js';

const version = (ts: number, value: string | null): Version => ({ ts, txId: `other.${ts}`, region: 'r', value });
const append = (item: number): Update => new Update(JSON.stringify([{ op: 'append', path: '', items: [item] }]));

function committed(session: Session, ct: number, writes: Record<string, Content>): void {
  const tx = session.begin();
  for (const [key, value] of Object.entries(writes)) tx.write(key, value);
  session.commit(tx);
  session.committed(ct);
}

function begun(session: Session, snapshot: number) {
  const tx = session.begin();
  session.started(tx, snapshot);
  return tx;
}

describe('updates in a session (F5)', () => {
  it('a session sees its own updates laid over the snapshot in its own order', () => {
    const session = new Session('s', parisSession);
    committed(session, 10, { x: append(10) });
    committed(session, 12, { x: append(12) });
    const tx = begun(session, 9);
    expect(tx.lookup('x')).toBeUndefined();
    expect(tx.record('x', version(5, '[5]'))).toEqual({ value: '[5,10,12]', ts: 12 });
    expect(tx.lookup('x')).toEqual({ value: '[5,10,12]', ts: 12 });
  });

  it('an update that the snapshot contains is not laid over it again', () => {
    const session = new Session('s', parisSession);
    for (const ct of [10, 12, 14]) committed(session, ct, { x: append(ct) });
    const tx = begun(session, 12);
    expect(tx.record('x', version(12, '[10,12]'))).toEqual({ value: '[10,12,14]', ts: 14 });
    const later = begun(session, 14);
    expect(later.record('x', version(14, '[10,12,14]'))).toEqual({ value: '[10,12,14]', ts: 14 });
  });

  it('updates after a put or a delete of the session need no document of the snapshot', () => {
    const session = new Session('s', parisSession);
    committed(session, 10, { x: '[1]', y: null });
    committed(session, 12, { x: append(2), y: append(3) });
    const tx = begun(session, 9);
    expect([tx.lookup('x')?.value, tx.lookup('y')?.value]).toEqual(['[1,2]', '[3]']);
  });

  it('several updates of a key in one transaction are one, in their order', () => {
    const session = new Session('s', parisSession);
    const tx = begun(session, 9);
    tx.write('x', append(1));
    tx.write('x', append(2));
    expect(tx.lookup('x')).toBeUndefined();
    expect(tx.record('x', version(5, '[5]'))).toEqual({ value: '[5,1,2]', ts: null });
    tx.write('x', append(3));
    expect(tx.lookup('x')).toEqual({ value: '[5,1,2,3]', ts: null });
    expect(tx.writes).toHaveLength(1);
    expect(laidOver('[7]', tx.writes)).toBe('[7,1,2,3]');
  });

  it('an update after a put or a delete in one transaction contains it', () => {
    const session = new Session('s', parisSession);
    const tx = begun(session, 9);
    for (const [key, first] of [
      ['x', '[1]'],
      ['y', null],
    ] as const) {
      tx.write(key, first);
      tx.write(key, append(2));
    }
    expect(tx.writes.map((write) => laidOver('[7]', [write]))).toEqual(['[1,2]', '[2]']);
    tx.write('x', 'null');
    expect(tx.lookup('x')).toEqual({ value: 'null', ts: null });
  });

  it('a transaction that is open keeps the updates that the stable time has passed', () => {
    const session = new Session('s', parisSession);
    committed(session, 10, { x: append(10) });
    const open = begun(session, 5);
    committed(session, 12, { x: append(12) });
    session.observe({ ts: 100 });
    expect(open.record('x', version(5, '[5]')).value).toBe('[5,10]');
    session.end(open);
    expect(session.cacheSize).toBe(0);
  });

  it('a listing gets the own updates of each key in their order', () => {
    const session = new Session('s', parisSession);
    committed(session, 10, { x: append(10), y: append(10) });
    committed(session, 12, { x: append(12) });
    const tx = begun(session, 10);
    tx.write('z', append(1));
    tx.write('x', append(2));
    expect([...tx.overlay()].map(([key, own]) => [key, laidOver('[]', own)])).toEqual([
      ['x', '[12,2]'],
      ['z', '[1]'],
    ]);
  });

  it('an exported session goes on with its updates, in their order', () => {
    const session = new Session('s', parisSession);
    committed(session, 10, { x: '[1]' });
    for (const ct of [12, 14]) committed(session, ct, { x: append(ct), y: append(ct) });
    const moved = new Session('t', parisSession, session.export());
    const tx = begun(moved, 9);
    expect(tx.lookup('x')?.value).toBe('[1,12,14]');
    expect(tx.record('y', version(3, '[3]')).value).toBe('[3,12,14]');
  });

  it('the cache of a key that is updated again and again keeps only what a snapshot may lack', () => {
    const session = new Session('s', parisSession);
    for (let ct = 10; ct < 200; ct++) {
      committed(session, ct, { x: append(ct) });
      session.observe({ ts: ct - 3 });
    }
    expect(session.export().cache.length).toBeLessThanOrEqual(5);
    expect(begun(session, 197).record('x', version(197, '[]')).value).toBe('[198,199]');
  });
});
