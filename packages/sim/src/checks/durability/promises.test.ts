import { MemoryState, openMemoryStore } from '@isochron/storage';
import { A, CheckBench } from '../fixtures.js';
import { PromisesAreDurable } from './promises.js';

const one = [{ key: A, value: '1' }];

describe('promises-are-durable', () => {
  it('promises-are-durable finds a promised prepare that is not on disk, and a replicated group that is not', () => {
    const bench = new CheckBench();
    const check = new PromisesAreDurable(bench.context, bench.ledger);
    bench.commit('t', 5, one);
    bench.apply('p-1', 't', 5, one);
    const groups = [{ ct: 5, txs: [{ txId: 't', writes: one }] }];
    check.prepared('p-1', 0, 't', 0, 5);
    check.replicated('p-1', 0, groups);
    expect(bench.failed).toEqual([]);
    check.prepared('p-1', 0, 't', 0, 6);
    check.prepared('p-1', 0, 'u', 0, 5);
    check.replicated('q-1', 0, groups);
    expect(bench.failed).toHaveLength(3);
  });

  it('promises-are-durable finds a version that is shown to a reader before it is on disk', () => {
    const bench = new CheckBench();
    const check = new PromisesAreDurable(bench.context, bench.ledger);
    const shown = { ts: 5, txId: 't', region: 'p', value: '1' };
    bench.commit('t', 5, one);
    check.revealed('p-1', 0, [shown]);
    expect(bench.failed).toHaveLength(1);
    bench.apply('p-1', 't', 5, one);
    check.revealed('p-1', 0, [shown]);
    expect(bench.failed).toHaveLength(1);
    check.revealed('q-1', 0, [shown]);
    expect(bench.failed).toHaveLength(2);
  });

  it('promises-are-durable takes a late put without effect, which shows the write of the same timestamp (F9)', () => {
    const bench = new CheckBench();
    const check = new PromisesAreDurable(bench.context, bench.ledger);
    bench.put('t', 5, '"late"', 3);
    check.revealed('p-1', 0, [{ ts: 5, txId: 't', region: 'p', value: '"other"', origin: { ts: 5, txId: 's' } }]);
    expect(bench.failed).toEqual([]);
  });

  it('promises-are-durable takes a collected version from the log of a rolled-back disk', async () => {
    const bench = new CheckBench();
    const check = new PromisesAreDurable(bench.context, bench.ledger);
    const older = new MemoryState();
    for (const [txId, ct] of [['t', 5] as const, ['u', 6] as const]) {
      bench.put(txId, ct, '1');
      const tx = { txId, writes: one };
      await openMemoryStore(older).commit([{ kind: 'applied', partition: 0, ct, region: 'p', log: 'own', tx }]);
    }
    await openMemoryStore(older).commit([{ kind: 'horizon', partition: 0, horizon: 'gcFloor', upTo: 7 }]);
    bench.ledger.onDataLoss('p-1', older);
    check.replicated('p-1', 0, [{ ct: 5, txs: [{ txId: 't', writes: one }] }]);
    expect(bench.failed).toEqual([]);
  });
});
