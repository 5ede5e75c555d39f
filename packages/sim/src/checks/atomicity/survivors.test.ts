import type { DurableFact, NodeId } from '@isochron/core';
import { Losses } from '@isochron/protocols';
import { MemoryState, openMemoryStore } from '@isochron/storage';
import { A, B, CheckBench, outcome, prepares } from '../fixtures.js';
import { SurvivorsAgree } from './survivors.js';

const both = [
  { key: A, value: '1' },
  { key: B, value: '2' },
];
const committed = (digest: string | null, attempt = 0): DurableFact => ({
  kind: 'outcome',
  partition: 0,
  txId: 't',
  record: { status: 'committed', ts: 5, attempt, digest },
});
const aborted = outcome(1, 't', 'aborted', 6);

describe('survivors-agree', () => {
  function watched() {
    const bench = new CheckBench();
    const check = new SurvivorsAgree(bench.context);
    const write = (node: NodeId, ...records: DurableFact[]) => check.durable(node, records);
    return { bench, check, write };
  }

  it.each([
    ['first', [committed('d'), aborted] as const],
    ['last', [aborted, committed('d')] as const],
  ])(
    'survivors-agree finds an attempt that one cohort has committed %s, and another one has aborted',
    (_when, [earlier, later]) => {
      const { bench, write } = watched();
      write('p-1', earlier);
      expect(bench.failed).toEqual([]);
      write('q-1', later);
      expect(bench.failed).toHaveLength(1);
    },
  );

  it('survivors-agree accepts the outcomes of other attempts, and outcomes that were found among copied versions', () => {
    const { bench, write } = watched();
    write('p-1', aborted);
    write('q-1', committed('d', 1), committed(null));
    expect(bench.failed).toEqual([]);
  });

  it('survivors-agree ignores the tombstone of an attempt about which an outsider asked, and no other', () => {
    const { bench, check, write } = watched();
    check.strangeAttempt('t', 0);
    write('q-1', aborted);
    write('p-1', committed('d'));
    expect(bench.failed).toEqual([]);
    write('p-1', committed('d', 1));
    write('q-1', outcome(1, 't', 'aborted', 6, 1));
    expect(bench.failed).toHaveLength(1);
  });

  it('survivors-agree ignores a transaction whose loss the same batch reports, before or after the abort', () => {
    const { bench, write } = watched();
    const losses = new Losses(undefined);
    const flags = { committed: true, takenBack: true, acknowledged: false, overtaken: false };
    const loss = { txId: 't', ts: 5, attempt: 0, partitions: [0], keys: [A], node: 'p-1', ...flags };
    const reported: DurableFact[] = [];
    losses.add([loss], { write: (record) => (record.kind === 'meta' ? reported.push(record) : 0) });
    write('p-1', committed('d'));
    write('p-1', aborted, ...reported);
    expect(bench.failed).toEqual([]);
  });

  it('survivors-agree ignores the records of a lost disk, and compares all others', () => {
    const { bench, check, write } = watched();
    write('p-1', committed('d'));
    check.onDataLoss('p-1', new MemoryState());
    write('q-1', aborted);
    expect(bench.failed).toEqual([]);
    write('q-1', committed('d'));
    expect(bench.failed).toHaveLength(1);
  });

  it('survivors-agree ignores the records of a disk that was rolled back', async () => {
    const { bench, check, write } = watched();
    write('p-1', prepares('t', 5, both)[0]!);
    const older = new MemoryState();
    await openMemoryStore(older).commit([{ kind: 'meta', name: 'ust', value: 1 }]);
    check.onDataLoss('p-1', older);
    write('p-1', committed('d'));
    write('q-1', aborted);
    expect(bench.failed).toEqual([]);
  });
});
