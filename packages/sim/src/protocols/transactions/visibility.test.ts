import { Topology, type Version } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { Visibility } from '../../checks/evidence/visibility.js';
import { vectorVisibility } from '../vector-visibility.js';
import { wrenVisibility } from './wren-visibility.js';

const TOPOLOGY = Topology.of({
  regions: ['p', 'q', 'r'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [{ name: 'default', partitions: 1, replication: 3 }],
});

const version = (region: string, ts: number, ...deps: number[]): Version => ({
  ts,
  txId: 't',
  region,
  value: '1',
  ...(deps.length === 0 ? {} : { deps }),
});

const shown = ({ shows }: Visibility, snapshot: Snapshot, versions: readonly Version[]) =>
  versions.map((one) => shows(snapshot, one));

describe('what a Wren snapshot shows', () => {
  const visibility = wrenVisibility(TOPOLOGY);
  /** `lt` 10 of region q, `rt` 7. */
  const inQ: Snapshot = { ts: 10, deps: [7, 2, 0] };
  const nowhere: Snapshot = { ts: 8, deps: [8, 0, 0] };

  it('a Wren snapshot shows versions of its region up to lt that depend on versions up to rt (Alg. 3 line 7)', () => {
    const versions = [version('q', 10, 7), version('q', 10, 8), version('q', 11, 7), version('q', 7), version('q', 8)];
    expect(shown(visibility, inQ, versions)).toEqual([true, false, false, true, false]);
  });

  it('a Wren snapshot shows versions of other regions up to rt that depend on versions up to lt (Alg. 3 line 8)', () => {
    const versions = [version('p', 7, 6), version('p', 8, 6), version('r', 7, 10), version('r', 7, 11)];
    expect(shown(visibility, inQ, versions)).toEqual([true, false, true, false]);
  });

  it('a Wren snapshot of no region shows the same from everywhere', () => {
    expect(shown(visibility, nowhere, [version('p', 8, 7), version('q', 8, 7), version('r', 9, 7)])).toEqual([
      true,
      true,
      false,
    ]);
    expect(shown(visibility, { ts: 8 }, [version('p', 8, 7), version('p', 9, 7)])).toEqual([true, false]);
  });

  it('a Wren snapshot may follow another one when it shows all of it, wherever it was assigned', () => {
    const follows = (before: Snapshot, after: Snapshot) => visibility.follows(before, after);
    expect(follows(inQ, { ts: 10, deps: [7, 2, 0] })).toBe(true);
    expect([follows(inQ, { ts: 11, deps: [6, 2, 0] }), follows(inQ, { ts: 9, deps: [7, 2, 0] })]).toEqual([
      false,
      false,
    ]);
    expect([follows(inQ, { ts: 7, deps: [10, 1, 0] }), follows(inQ, { ts: 12, deps: [9, 1, 0] })]).toEqual([
      true,
      false,
    ]);
    expect([visibility.lowest(inQ), visibility.lowest(nowhere)]).toEqual([7, 8]);
  });
});

describe('what a snapshot vector shows', () => {
  const visibility = vectorVisibility(TOPOLOGY);
  const snapshot: Snapshot = { ts: 9, deps: [9, 5, 7] };

  it('a snapshot vector shows the versions that depend on nothing above it, entry by entry', () => {
    const versions = [
      version('p', 9, 9, 5, 7),
      version('q', 5, 8, 5, 1),
      version('q', 6, 1, 6, 1),
      version('r', 7, 1, 6, 7),
    ];
    expect(shown(visibility, snapshot, versions)).toEqual([true, true, false, false]);
  });

  it('a snapshot vector has one entry for all regions where it is a timestamp alone', () => {
    expect(shown(visibility, { ts: 6 }, [version('q', 6, 1, 6, 1), version('q', 7, 1, 7, 1)])).toEqual([true, false]);
    expect(visibility.follows(snapshot, { ts: 9 })).toBe(true);
    expect(visibility.follows({ ts: 6 }, snapshot)).toBe(false);
  });

  it('a version vector depends on its commit in the region that made it, and on its snapshot in the others', () => {
    expect(visibility.stamp([9, 5, 7], 12, 'q')).toEqual([9, 12, 7]);
    expect(visibility.lowest(snapshot)).toBe(5);
  });
});
