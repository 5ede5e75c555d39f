import { IsochronError, packWall } from '@isochron/core';
import { checksOf, rulesOf } from '@isochron/testing/sessions/tokens';
import { depsField, raisedTo, sameSnapshot, wanted } from '../snapshot.js';

const NOW = Date.UTC(2026, 0, 1);
const paris = checksOf('paris');
const cure = checksOf('cure');

describe("a caller's snapshot", () => {
  it('a snapshot that a caller names has the entries of the protocol, or none', () => {
    expect([paris.entries, cure.entries]).toEqual([0, 2]);
    expect([paris.fits(undefined), paris.fits([]), paris.fits([1])]).toEqual([true, false, false]);
    expect([undefined, [], [1], [1, 2], [1, 2, 3]].map((deps) => cure.fits(deps))).toEqual([
      true,
      false,
      false,
      true,
      false,
    ]);
    for (const odd of [-1, 0.5, Number.NaN, '1', null, 2 ** 53]) expect(cure.fits([1, odd])).toBe(false);
  });

  it('a caller cannot name a snapshot of the future, in any of its entries (T1)', () => {
    const limit = packWall(NOW);
    const code = (ts: number, deps?: number[]): string | undefined => {
      try {
        cure.refuseFuture({ ts, deps }, limit, 'It');
      } catch (error) {
        return error instanceof IsochronError ? error.code : String(error);
      }
      return undefined;
    };
    expect([code(limit, [limit, 0]), code(limit)]).toEqual([undefined, undefined]);
    expect([code(limit + 1), code(0, [0, limit + 1]), code(0, [limit + 1, 0])]).toEqual(
      Array(3).fill('TIMESTAMP_IN_FUTURE'),
    );
  });
});

describe("a session's state", () => {
  it("a session's lower bound is raised until its snapshots show its own writes, and not where they do already", () => {
    expect(raisedTo(rulesOf('paris'), { ts: 5 }, 9)).toMatchObject({ ts: 9 });
    expect(raisedTo(rulesOf('paris'), { ts: 9 }, 5)).toEqual({ ts: 9 });
    // Its reads wait for them.
    expect(raisedTo(rulesOf('bpr'), { ts: 5 }, 9)).toEqual({ ts: 5 });
    expect(rulesOf('wren').covers(raisedTo(rulesOf('wren'), { ts: 5, deps: [4, 1, 9] }, 9))).toBe(9);
  });

  it("a session's state is asked for as a lower bound of the snapshot, or as the snapshot itself", () => {
    expect(wanted({ ts: 5, deps: [1] }, null)).toEqual({ ust: 5, at: null, deps: [1] });
    expect(wanted({ ts: 5, deps: [1] }, { ts: 3, deps: [2] })).toEqual({ ust: 3, at: 3, deps: [2] });
    expect(wanted({ ts: 5 }, { ts: 7 })).toEqual({ ust: 5, at: 7, deps: undefined });
  });

  it('two session states are equal only when every entry is', () => {
    expect(sameSnapshot({ ts: 1 }, { ts: 1, deps: undefined })).toBe(true);
    expect(sameSnapshot({ ts: 1, deps: [1, 2] }, { ts: 1, deps: [1, 2] })).toBe(true);
    for (const other of [{ ts: 1 }, { ts: 2, deps: [1, 2] }, { ts: 1, deps: [1, 3] }, { ts: 1, deps: [1] }])
      expect(sameSnapshot({ ts: 1, deps: [1, 2] }, other)).toBe(false);
    expect([depsField({ ts: 1 }), depsField({ ts: 1, deps: [2] })]).toEqual([{}, { deps: [2] }]);
  });
});
