import { firstMap, nextMap } from '@isochron/core';
import { Unstable, type UnstableTx } from './unstable.js';

const regions = ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] }));
const map0 = firstMap({ regions, keyspaces: [{ name: 'default', partitions: 3, replication: 2 }] });
/** Suspends ireland's node at the horizon 100. */
const map1 = nextMap(map0, { members: [0, 1] }, 100);
const tx = (ct: number, rest: Partial<UnstableTx> = {}): UnstableTx => ({
  ct,
  region: 'virginia',
  tx: { txId: `tx-${ct}`, writes: [{ key: 'default/a', value: '1' }] },
  ...rest,
});
const filled = (...txs: UnstableTx[]): Unstable => {
  const unstable = new Unstable();
  for (const one of txs) unstable.add(one, 0);
  return unstable;
};

describe('the transactions above the stable time', () => {
  it('a cut takes what lies above the horizon of its map, in the order of the timestamps, once', () => {
    const unstable = filled(tx(150), tx(100), tx(120), tx(130));
    const isCut = ({ ct }: UnstableTx) => ct !== 130;
    expect(unstable.take(map1, isCut).map(({ ct }) => ct)).toEqual([120, 150]);
    expect(unstable.take(map1, isCut)).toEqual([]);
  });

  it('a cut takes nothing that was copied from a node which had adopted its map', () => {
    const unstable = filled(tx(150, { map: 1 }), tx(160, { map: 0 }));
    expect(unstable.take(map1, () => true).map(({ ct }) => ct)).toEqual([160]);
  });

  it('a copy gets what lies above the stable time alone, and nothing before all of that is known', () => {
    const unstable = filled(tx(150), tx(120), tx(130, { tx: { txId: 'taken back', writes: [] } }));
    expect(unstable.above(120)).toBeUndefined();
    unstable.isWhole = true;
    expect(unstable.above(120)?.map(({ ct }) => ct)).toEqual([150]);
  });

  it('the list keeps to what is unstable as it grows', () => {
    const unstable = filled();
    unstable.isWhole = true;
    for (let ct = 1; ct <= 1_000; ct++) unstable.add(tx(ct), ct - 10);
    expect(unstable.above(0)!.length).toBeLessThan(100);
  });
});
