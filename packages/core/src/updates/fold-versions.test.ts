import type { Content, StoredVersion } from '../ids.js';
import { foldVersions } from './fold-versions.js';
import { Update } from './update.js';

/** A version at `ts`; `at` is the first timestamp of a late write. */
const version = (ts: number, value: Content, at?: number): StoredVersion => ({
  ts,
  txId: `tx${ts}`,
  region: 'p',
  value,
  at,
});
const append = (ts: number, at?: number) =>
  version(ts, new Update(JSON.stringify([{ op: 'append', path: '', items: [ts] }])), at);
const claim = (ts: number, at?: number) => version(ts, new Update(`[{"op":"init","value":${ts}}]`), at);
const folded = (...versions: StoredVersion[]) => foldVersions(undefined, versions);

describe('late writes (F9)', () => {
  it('a late put has no effect on a document that was changed at a later time, by a put or an update', () => {
    expect(folded(version(10, '1'), version(50, '2'), version(100, '3', 20))).toMatchObject({ value: '2', ts: 100 });
    expect(folded(version(10, '[]'), append(50), version(100, '3', 20)).value).toBe('[50]');
    expect(folded(version(10, '[]'), version(100, '3', 20)).value).toBe('3');
  });

  it('a late delete has no effect on a document that was changed at a later time', () => {
    expect(folded(version(50, '2'), version(100, null, 20)).value).toBe('2');
    expect(folded(version(10, '2'), version(100, null, 20)).value).toBeNull();
  });

  it('late writes yield to one another by their first timestamps, in any order of commits', () => {
    expect(folded(version(10, '1'), version(100, '2', 30), version(110, '3', 20)).value).toBe('2');
    expect(folded(version(10, '1'), version(100, '2', 20), version(110, '3', 30)).value).toBe('3');
  });

  it('a late put follows a late update of the same session, and keeps its effect', () => {
    expect(folded(version(10, '[]'), append(100, 20), version(110, '3', 21)).value).toBe('3');
  });

  it('a late update applies, and does not make the last change of a document earlier', () => {
    expect(folded(version(50, '[]'), append(100, 20)).value).toBe('[100]');
    expect(folded(version(50, '[]'), append(100, 20), version(110, '3', 30)).value).toBe('[100]');
  });

  it('a late claim loses to a claim that was decided meanwhile (F7)', () => {
    const both = folded(claim(50), claim(100, 20));
    expect(both).toMatchObject({ value: '50', origin: { ts: 50, txId: 'tx50' } });
    expect(folded(claim(100, 20))).toMatchObject({ value: '100', at: 20 });
  });

  it('every write has its effect where there is no document, so that collected tombstones make no difference', () => {
    expect(folded(version(10, '1'), version(50, null), version(100, '3', 20)).value).toBe('3');
    const again = folded(version(50, null), version(100, '3', 20), version(110, '4', 10));
    expect(again).toMatchObject({ value: '3', at: 20, origin: { ts: 100, txId: 'tx100' } });
  });

  it('a fold names what made its document, and the time of its last change where that is not its timestamp', () => {
    expect(folded(version(50, '2'), version(100, '3', 20))).toMatchObject({ at: 50, origin: { ts: 50, txId: 'tx50' } });
    const effective = folded(version(10, '2'), version(100, '3', 20));
    expect([effective.at, effective.origin]).toEqual([20, undefined]);
    expect(folded(version(50, '2'), version(100, '3', 20), append(120)).at).toBeUndefined();
  });

  it('the fold of any beginning of a chain stands for the beginning', () => {
    const chain = [
      version(10, '[1]'),
      version(40, '[2]', 5),
      append(50),
      version(60, '[3]', 45),
      version(70, null, 55),
      append(80, 20),
      version(90, '[4]', 85),
      version(91, null),
      version(95, '[5]', 30),
      append(96, 40),
      version(99, '[6]', 35),
    ];
    const whole = folded(...chain);
    for (let length = 1; length < chain.length; length++) {
      const below = folded(...chain.slice(0, length));
      expect({ ...foldVersions(below, chain.slice(length)), origin: undefined }).toEqual({
        ...whole,
        origin: undefined,
      });
      const { origin: _, ...settled } = below;
      expect(folded(settled, ...chain.slice(length)).value).toBe(whole.value);
    }
  });
});
