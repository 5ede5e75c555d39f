import { Moments } from './moments.js';

describe('moments', () => {
  const prepare = { type: 'PrepareReq' };
  const moment = { node: 'n', type: 'PrepareReq', point: 'handle' as const };

  it('a moment comes once, at the given time, and for the right node, message and point', () => {
    const moments = new Moments();
    const came: number[] = [];
    moments.on(moment, 2, () => came.push(2));
    const callOff = moments.on(moment, 1, () => came.push(1));
    moments.came('other', prepare, 'm', 'handle');
    moments.came('n', { type: 'CommitTx' }, 'm', 'handle');
    moments.came('n', prepare, 'm', 'receive');
    callOff();
    moments.came('n', prepare, 'm', 'handle');
    expect(came).toEqual([]);
    moments.came('n', prepare, 'm', 'handle');
    moments.came('n', prepare, 'm', 'handle');
    expect([came, moments.any]).toEqual([[2], false]);
  });
});
