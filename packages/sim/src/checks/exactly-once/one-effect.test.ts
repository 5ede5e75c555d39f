import type { DurableFact } from '@isochron/core';
import type { Loss } from '@isochron/protocols';
import { MemoryState } from '@isochron/storage';
import { FinalStatusesAreTrue } from '../atomicity/final-statuses.js';
import { AppliedVersions } from '../evidence/applied-versions.js';
import { A, B, CheckBench, hold, version } from '../fixtures.js';
import { OneEffect } from './one-effect.js';

const write = { key: A, value: '1' };

/** A bench with disks that hold these records. */
function bench(disks: Record<string, readonly DurableFact[]> = {}) {
  const applied = new AppliedVersions();
  for (const [node, records] of Object.entries(disks)) applied.durable(node, records);
  const made = new CheckBench();
  made.commit('t', 5, [write]);
  return { ...made, applied };
}

describe('one-effect', () => {
  function watched(disks?: Record<string, readonly DurableFact[]>) {
    const { context, ledger, failed, applied } = bench(disks);
    return { check: new OneEffect(context, ledger, applied), failed };
  }

  it('one-effect accepts equal answers, and refusals that decide nothing', () => {
    const { check, failed } = watched({ 'p-1': [version('t', 5, write)], 'q-1': [version('t', 5, write)] });
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
  ])('one-effect finds %s', (_what, answers) => {
    const { check, failed } = watched();
    for (const answer of answers) check.httpRepeated('t', answer, [A]);
    expect(failed).toHaveLength(1);
  });

  it('one-effect finds two versions of one write', () => {
    const { check, failed } = watched({ 'p-1': [version('t', 5, write)], 'q-1': [version('t', 6, write)] });
    check.httpRepeated('t', 5, [A]);
    check.converged();
    expect(failed).toHaveLength(1);
  });
});

describe('the versions that disks have stored', () => {
  const stored = () => {
    const applied = new AppliedVersions();
    for (const node of ['p-1', 'q-1']) applied.durable(node, [version('t', 5, write)]);
    return applied;
  };
  const remove: DurableFact = { kind: 'remove', partition: 0, key: A, txId: 't', ts: 5 };

  it('the versions that disks have stored are those that no verdict has removed', () => {
    const applied = stored();
    applied.durable('p-1', [remove]);
    expect([applied.of('t'), applied.of('t', A), applied.of('t', B), applied.of('u')]).toEqual([[5], [5], [], []]);
    applied.durable('q-1', [remove]);
    expect(applied.of('t')).toEqual([]);
  });

  it('the versions that disks have stored go with a disk, except what is left on it', async () => {
    const applied = stored();
    applied.onDataLoss('p-1', new MemoryState());
    const left = new MemoryState();
    hold(left, [version('t', 5, write)]);
    applied.onDataLoss('q-1', left);
    expect(applied.of('t')).toEqual([5]);
    applied.onDataLoss('q-1', new MemoryState());
    expect(applied.of('t')).toEqual([]);
  });
});

describe('final-statuses', () => {
  const loss = (ts: number, takenBack: boolean) => ({ txId: 't', ts, takenBack }) as Loss;

  function watched(losses: readonly Loss[] = []) {
    const { context, failed, applied } = bench({ 'q-1': [version('t', 5, write)] });
    return { check: new FinalStatusesAreTrue(context, applied, () => losses), failed };
  }

  it('final-statuses accepts the truth, and answers for want of others', () => {
    const { check, failed } = watched();
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
  ])('final-statuses finds %s', (_what, status, ts, losses) => {
    const { check, failed } = watched(losses);
    check.finalStatus('t', 'p-1', status, ts);
    expect(failed).toHaveLength(1);
  });

  it('final-statuses accepts the part of a lost transaction that readers may have seen', () => {
    const { check, failed } = watched([loss(5, false)]);
    check.finalStatus('t', 'p-1', 'lost', null);
    expect(failed).toEqual([]);
  });

  it('final-statuses finds nodes that report different statuses', () => {
    const { check, failed } = watched();
    check.finalStatus('u', 'p-1', 'committed', 5);
    check.finalStatus('u', 'q-1', 'aborted', null);
    expect(failed).toHaveLength(1);
  });
});
