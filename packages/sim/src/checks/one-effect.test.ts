import type { DurableRecord } from '@isochron/core';
import type { Loss } from '@isochron/protocols';
import { MemoryState, openMemoryStore } from '@isochron/storage';
import { FinalStatusesAreTrue } from './final-statuses.js';
import { A, B, CheckBench, TOPOLOGY, version } from './fixtures.js';
import { OneEffect } from './one-effect.js';

const write = { key: A, value: '1' };

/** A bench with disks that hold these records. */
async function bench(disks: Record<string, readonly DurableRecord[]> = {}) {
  const states = new Map(TOPOLOGY.nodes.map((node) => [node, new MemoryState()]));
  for (const [node, state] of states) await openMemoryStore(state).commit(disks[node] ?? []);
  const made = new CheckBench();
  made.commit('t', 5, [write]);
  return { ...made, disk: (node: string) => states.get(node)! };
}

describe('one-effect', () => {
  async function watched(disks?: Record<string, readonly DurableRecord[]>) {
    const { context, ledger, failed, disk } = await bench(disks);
    return { check: new OneEffect(context, ledger, disk), failed };
  }

  it('one-effect accepts equal answers, and refusals that decide nothing', async () => {
    const { check, failed } = await watched({ 'p-1': [version('t', 5, write)], 'q-1': [version('t', 5, write)] });
    for (const answer of ['OUTCOME_PENDING', 5, 5, 'NOT_READY']) check.httpRepeated('t', answer, [A]);
    check.httpRepeated('u', 'TRANSACTION_ABORTED', [B]);
    check.converged();
    expect(failed).toEqual([]);
  });

  it.each<[string, (string | number)[]]>([
    ['two timestamps', [5, 6]],
    ['a commit that is reported as aborted', [5, 'TRANSACTION_ABORTED']],
    ['a repetition that is taken for another attempt', ['ATTEMPT_MISMATCH']],
    ['a repetition that is taken for another write', ['TX_ID_REUSED']],
  ])('one-effect finds %s', async (_what, answers) => {
    const { check, failed } = await watched();
    for (const answer of answers) check.httpRepeated('t', answer, [A]);
    expect(failed).toHaveLength(1);
  });

  it('one-effect finds two versions of one write', async () => {
    const { check, failed } = await watched({ 'p-1': [version('t', 5, write)], 'q-1': [version('t', 6, write)] });
    check.httpRepeated('t', 5, [A]);
    check.converged();
    expect(failed).toHaveLength(1);
  });
});

describe('final-statuses', () => {
  const loss = (ts: number, takenBack: boolean) => ({ txId: 't', ts, takenBack }) as Loss;

  async function watched(losses: readonly Loss[] = []) {
    const { context, ledger, failed, disk } = await bench({ 'q-1': [version('t', 5, write)] });
    return { check: new FinalStatusesAreTrue(context, ledger, disk, () => losses), failed };
  }

  it('final-statuses accepts the truth, and answers for want of others', async () => {
    const { check, failed } = await watched();
    check.finalStatus('t', 'p-1', 'committed', 5);
    check.finalStatus('t', 'q-1', 'unknown', null);
    check.finalStatus('nothing', 'p-1', 'aborted', null);
    expect(failed).toEqual([]);
  });

  it.each<[string, string, number | null, Loss[]]>([
    ['an aborted transaction with a version', 'aborted', null, []],
    ['a lost transaction with a version', 'lost', null, []],
    ['a lost transaction with the version of a later attempt', 'lost', null, [loss(4, false)]],
    ['a transaction that was taken back, with a version', 'lost', null, [loss(5, true)]],
    ['another timestamp', 'committed', 6, []],
  ])('final-statuses finds %s', async (_what, status, ts, losses) => {
    const { check, failed } = await watched(losses);
    check.finalStatus('t', 'p-1', status, ts);
    expect(failed).toHaveLength(1);
  });

  it('final-statuses accepts the part of a lost transaction that readers may have seen', async () => {
    const { check, failed } = await watched([loss(5, false)]);
    check.finalStatus('t', 'p-1', 'lost', null);
    expect(failed).toEqual([]);
  });

  it('final-statuses finds nodes that report different statuses', async () => {
    const { check, failed } = await watched();
    check.finalStatus('u', 'p-1', 'committed', 5);
    check.finalStatus('u', 'q-1', 'aborted', null);
    expect(failed).toHaveLength(1);
  });
});
