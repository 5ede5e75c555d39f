import { firstMap, nextMap } from './cluster-map.js';
import { type Cuttable, defers } from './cuts.js';

const regions = ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] }));
const map0 = firstMap({ regions, keyspaces: [{ name: 'default', partitions: 3, replication: 2 }] });
/** Suspends ireland's node at the horizon 100. */
const map1 = nextMap(map0, { members: [0, 1] }, 100);
const isDeferred = (tx: Partial<Cuttable>) => defers(map1, { ct: 150, source: 0, ...tx });

describe('the cut of a map', () => {
  it('a map suspends the members that are gone and have not left in order (M4)', () => {
    expect([map0.suspends, map1.suspends, nextMap(map0, { members: [0, 1], left: [2] }, 100).suspends]).toEqual([
      [],
      [2],
      [],
    ]);
    expect(nextMap(map1, { members: [0, 1, 2] }, 200).suspends).toEqual([]);
  });

  it('a map defers what has a slice on a suspended node, above the horizon alone (M4)', () => {
    expect([isDeferred({ source: 2 }), isDeferred({ source: 2, ct: 100 })]).toEqual([true, false]);
    expect([isDeferred({ needs: [{ node: 2 }] }), isDeferred({ needs: [{ node: 1 }] })]).toEqual([true, false]);
    expect(isDeferred({ needs: [{ node: 2 }], ct: 100 })).toBe(false);
  });

  it('a map defers what follows a write above the horizon on a suspended node, or on a node that is not known (M4)', () => {
    expect(isDeferred({ needs: [{ node: 2, ct: 101 }] })).toBe(true);
    expect(isDeferred({ needs: [{ node: 2, ct: 100 }] })).toBe(false);
    expect(isDeferred({ needs: [{ node: 1, ct: 101 }] })).toBe(false);
    expect([isDeferred({ needs: [{ ct: 101 }] }), isDeferred({ needs: [{ ct: 100 }] })]).toEqual([true, false]);
  });

  it('a map that suspends nothing defers nothing (M4)', () => {
    expect(
      defers(nextMap(map0, { members: [0, 1], left: [2] }, 100), { ct: 150, source: 2, needs: [{ ct: 140 }] }),
    ).toBe(false);
  });
});
