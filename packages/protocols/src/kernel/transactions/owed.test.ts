/** Claims about the order of what a returned node commits again (M11). */
import type { Need, Timestamp } from '@isochron/core';
import { type FoundTransaction, inChains, type Owed } from './owed.js';

interface Plan {
  readonly name: string;
  readonly ct: Timestamp;
  readonly key?: string;
  readonly needs?: readonly Need[];
  readonly waits?: boolean;
}

const whole = ({ name, ct, key = name, needs, waits = false }: Plan): FoundTransaction => {
  const place = { partition: 0, attempt: 0, home: 'p', map: 0, cohorts: [0], first: ct, pt: ct, ct, digest: '' };
  return {
    first: ct,
    waits,
    slices: [{ txId: name, ...place, writes: [{ key, value: '1' }], needs }],
    timestamps: [ct],
  };
};
const namesOf = (all: readonly Owed[]) => all.map(({ slices }) => slices[0]!.txId);

describe('what a returned node owes', () => {
  it('transactions that follow nothing are committed again at the same time (M11)', () => {
    expect(namesOf(inChains([whole({ name: 'b', ct: 8 }), whole({ name: 'a', ct: 5 })]).ready)).toEqual(['a', 'b']);
  });

  it('a transaction is committed again behind the earlier ones of its session, above and with all that they follow (M11)', () => {
    const [a, ...others] = inChains([
      whole({ name: 'a', ct: 5, needs: [{ node: 3, ct: 2 }] }),
      whole({ name: 'b', ct: 6, needs: [{ node: 0, ct: 5 }] }),
      whole({ name: 'c', ct: 7, needs: [{ node: 0, ct: 5 }, { ct: 6 }, { node: 1 }] }),
    ]).ready;
    expect(others).toEqual([]);
    const [b, ...more] = a!.committed(20, [1]);
    expect([namesOf([b!]), more, b!.hwt]).toEqual([['b'], [], 20]);
    expect([...b!.behind].sort()).toEqual([
      [0, 5],
      [1, 20],
      [3, 2],
    ]);
    const [c] = b!.committed(30, undefined);
    expect([namesOf([c!]), c!.hwt, c!.behind.get(undefined), c!.behind.get(1)]).toEqual([['c'], 30, 30, 20]);
  });

  it('writes of one key are committed again in the order of their first timestamps (M11)', () => {
    const [a, ...others] = inChains([
      whole({ name: 'b', ct: 8, key: 'k' }),
      whole({ name: 'a', ct: 5, key: 'k' }),
      whole({ name: 'c', ct: 9, key: 'l' }),
    ]).ready;
    expect([namesOf([a!]), namesOf(others)]).toEqual([['a'], ['c']]);
    expect(namesOf(a!.committed(20, [0]))).toEqual(['b']);
  });

  it('what follows a transaction of its session that waits for another node waits with that, and nothing else (M11)', () => {
    const { count, ready } = inChains([
      whole({ name: 'a', ct: 5, key: 'k', waits: true }),
      whole({ name: 'b', ct: 6, needs: [{ node: 0, ct: 5 }] }),
      whole({ name: 'c', ct: 7, needs: [{ node: 1, ct: 6 }] }),
      whole({ name: 'd', ct: 8, key: 'k' }),
    ]);
    expect([count, namesOf(ready)]).toEqual([1, ['d']]);
  });
});
