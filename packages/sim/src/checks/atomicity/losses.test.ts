import type { NodeId } from '@isochron/core';
import type { Loss } from '@isochron/protocols';
import { MemoryState } from '@isochron/storage';
import { Ledger } from '../evidence/ledger.js';
import { UP_TO_A_TIMESTAMP } from '../evidence/visibility.js';
import { A, B, CheckBench, prepares, TOPOLOGY, version } from '../fixtures.js';
import { LossesAreSettled } from './losses.js';

const first = { key: A, value: '1' };
const second = { key: B, value: '2' };
const [ON_A, ON_B] = prepares('t', 5, [first, second]);

describe('losses-are-settled', () => {
  /** A transaction whose cohorts are in p and in q: a disk in q has the version of the second one. */
  function watched(takesBack = true, stable = 0) {
    const bench = new CheckBench();
    const ledger = new Ledger(bench.context, UP_TO_A_TIMESTAMP, undefined, 'nothing', () => stable);
    const disks = new Map<NodeId, MemoryState>(['p-1', 'q-1'].map((node) => [node, new MemoryState()]));
    const losses = new Map<NodeId, Loss[]>();
    const lossesOf = (node: NodeId) => losses.get(node) ?? [];
    const check = new LossesAreSettled(bench.context, ledger, (node) => disks.get(node)!, lossesOf, takesBack);
    ledger.durable('p-1', [ON_A!]);
    ledger.durable('q-1', [ON_B!]);
    const onDisk = version('t', 5, second);
    if (onDisk.kind === 'version') {
      const partition = { prepared: new Map(), log: [], chains: new Map([[B, [onDisk.version]]]), horizons: {} };
      disks.get('q-1')!.partitions.set(onDisk.partition, partition as never);
    }
    const report = (...nodes: NodeId[]) => {
      for (const node of nodes) losses.set(node, [{ txId: 't' } as Loss]);
    };
    return { bench, ledger, check, report, disks };
  }
  const older = (): MemoryState => {
    const state = new MemoryState();
    state.meta.set('joined', 1);
    return state;
  };

  it('losses-are-settled finds a half that is left, and every node that does not report the other one', () => {
    const { bench, ledger, check } = watched();
    ledger.onDataLoss('p-1', new MemoryState());
    check.converged();
    expect(bench.failed).toHaveLength(3);
  });

  it('losses-are-settled finds a half that is left although every node reports it, where halves are taken back', () => {
    for (const takesBack of [true, false]) {
      const { bench, ledger, check, report } = watched(takesBack);
      ledger.onDataLoss('p-1', new MemoryState());
      report('p-1', 'q-1');
      check.converged();
      expect(bench.failed).toHaveLength(takesBack ? 1 : 0);
    }
  });

  it('losses-are-settled accepts that nothing is left', () => {
    const { bench, ledger, check, disks } = watched();
    ledger.onDataLoss('p-1', new MemoryState());
    disks.get('q-1')!.partitions.clear();
    check.converged();
    expect(bench.failed).toEqual([]);
  });

  it('losses-are-settled excuses a transaction only when each of its cohorts has lost its disk', () => {
    const { bench, ledger, check } = watched();
    for (const node of ['p-1', 'q-1']) ledger.onDataLoss(node, new MemoryState());
    check.converged();
    expect(bench.failed).toEqual([]);
  });

  it('losses-are-settled excuses an older disk that no peer has noticed, until its node starts over', () => {
    const { bench, ledger, check } = watched();
    ledger.onDataLoss('p-1', older());
    check.converged();
    expect(bench.failed).toEqual([]);
    ledger.onDataLoss('p-1', new MemoryState());
    check.converged();
    expect(bench.failed).toHaveLength(3);
  });

  it('losses-are-settled excuses an older disk that its node gives up only after the stable time has passed the missing data', () => {
    for (const stable of [4, 5]) {
      const { bench, ledger, check } = watched(true, stable);
      ledger.onDataLoss('p-1', older());
      ledger.onDataLoss('p-1', new MemoryState());
      check.converged();
      expect(bench.failed).toHaveLength(stable < 5 ? 3 : 0);
    }
  });

  it('losses-are-settled does not count a slice as lost that was collected before', () => {
    const { bench, ledger, check } = watched();
    const [newer] = prepares('u', 9, [{ key: A, value: '3' }]);
    ledger.durable('p-1', [
      newer!,
      { kind: 'horizon', partition: TOPOLOGY.partitionOf(A), horizon: 'gcFloor', upTo: 10 },
    ]);
    ledger.onDataLoss('p-1', new MemoryState());
    check.converged();
    expect(bench.failed).toEqual([]);
  });

  it('losses-are-settled does not count a slice as lost that its peer has collected', () => {
    for (const floor of [8, 10]) {
      const { bench, ledger, check } = watched();
      const [newer] = prepares('u', 9, [{ key: A, value: '3' }]);
      ledger.durable('q-1', [
        newer!,
        { kind: 'horizon', partition: TOPOLOGY.partitionOf(A), horizon: 'gcFloor', upTo: floor },
      ]);
      ledger.onDataLoss('p-1', new MemoryState());
      check.converged();
      expect(bench.failed).toHaveLength(floor < 9 ? 3 : 0);
    }
  });
});
