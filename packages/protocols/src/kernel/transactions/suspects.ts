/**
 * A cohort's reports to a node that has lost its disk, and its prepares that wait for that node's verdict (D10,
 * `settlement.ts`).
 */
import type { KeyWrite, LoggedTx, NodeId, OutcomeRecord, QualifiedKey, Timestamp, TxId, WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import { SETTLEMENT_MACHINE } from '../node.js';
import { replicaName } from '../node-state.js';
import type { Loss } from '../replication/losses.js';
import { cohortsIn } from './digest.js';
import { attemptOf, type Known } from './known.js';
import type { OutcomeResp, TransactionMessage } from './messages.js';
import type { ReadSuspects, Suspect, SuspectsReq } from './settlement-messages.js';
import type { Slices } from './slices.js';

type Out = Effects<TransactionMessage>;

/** Whether a cohort knows of an attempt after the lost one that has committed, or still may. */
const isLater = (known: Known | undefined, { attempt, ts }: Loss): boolean =>
  (known?.state === 'committed' && known.ct !== ts) ||
  (known?.state === 'prepared' && known.prepared.record.attempt > attempt);

const keysOf = (writes: readonly KeyWrite[]): QualifiedKey[] => writes.map(({ key }) => key);

export class Suspects {
  constructor(readonly slices: Slices) {}

  /**
   * The queues are read first, and then the log up to its present end, in a step of its own as for a replay:
   * transactions move from the queues to the log, never back.
   */
  onSuspectsReq(request: SuspectsReq, versionClock: Timestamp, { node }: Address, out: Out): void {
    const { state, partition } = this.slices;
    if (!state.topology.hasNode(node)) return;
    const self = { node: state.node, machine: replicaName(partition) };
    const queued = this.#report(node);
    const upTo = Math.max(request.after, versionClock);
    out.send(self, { type: 'ReadSuspects', node, request, queued, upTo });
  }

  onReadSuspects({ node, request: { after }, queued, upTo }: ReadSuspects, from: Address, out: Out): void {
    const { partition, state } = this.slices;
    if (from.node !== state.node) return;
    const { reader, region } = state;
    const page = reader.log(partition, after, upTo);
    const logged = page.groups.flatMap(({ ct, txs }) =>
      txs.flatMap((tx) => this.#suspect(node, ct, tx, reader.outcome(partition, tx.txId))),
    );
    const next = page.upTo < upTo ? page.upTo : null;
    const suspects = [...queued, ...logged];
    const to = { node, machine: SETTLEMENT_MACHINE };
    out.sendAfterPersist(to, { type: 'SuspectsResp', partition, region, after, suspects, next });
  }

  /**
   * Transactions with a cohort on the node that are not in the log yet. Those that are prepared wait for the verdict
   * from now on.
   */
  #report(node: NodeId): Suspect[] {
    const suspects: Suspect[] = [];
    for (const prepared of this.slices.prepared.values()) {
      const { txId, record } = prepared;
      const partitions = this.slices.partitionsOn(node, record);
      if (partitions.length === 0) continue;
      prepared.waitsFor = node;
      const { attempt, pt: ts, writes } = record;
      suspects.push({ txId, attempt, committed: false, ts, partitions, keys: keysOf(writes) });
    }
    for (const tx of this.slices.committed.values()) suspects.push(...this.#suspect(node, tx.ct, tx, tx));
    return suspects;
  }

  /**
   * A transaction that is committed here, where it had a cohort on the node. A replica that only received it does not
   * know the cohorts: it reports its keys, without partitions.
   */
  #suspect(
    node: NodeId,
    ts: Timestamp,
    { txId, writes, siblings }: Pick<LoggedTx, 'txId' | 'writes' | 'siblings'>,
    outcome: Pick<OutcomeRecord, 'attempt' | 'digest'> | undefined,
  ): Suspect[] {
    const suspect = { txId, committed: true, ts, keys: keysOf(writes) };
    // Copied data have only the node's own partitions.
    if (node === this.slices.state.node && siblings !== undefined)
      return [{ ...suspect, attempt: 0, partitions: [this.slices.partition, ...siblings] }];
    if (!outcome?.digest) return [{ ...suspect, attempt: 0, partitions: [] }];
    const partitions = this.slices.partitionsOn(node, cohortsIn(outcome.digest));
    return partitions.length === 0 ? [] : [{ ...suspect, attempt: outcome.attempt, partitions }];
  }

  /** The node that lost its disk has decided about all transactions that waited for it. */
  resume(node: NodeId): void {
    for (const prepared of this.slices.prepared.values()) {
      if (prepared.waitsFor === node) prepared.waitsFor = undefined;
    }
  }

  /** The verdict about a transaction of which a lost disk took a part. Returns whether it was logged here. */
  takeBack(loss: Loss, now: WallMs, out: Out): boolean {
    const { txId, attempt, ts, committed, takenBack } = loss;
    const { slices } = this;
    const prepared = slices.prepared.get(txId);
    if (prepared?.record.attempt === attempt) {
      if (committed && !takenBack && ts >= prepared.record.pt) slices.commit(prepared, ts);
      else slices.abort(prepared, now, out);
    }
    if (!takenBack) return false;
    const known = slices.known(txId, 0);
    const isHere = known?.state === 'committed' && known.ct === ts;
    // The coordinator may have the votes of the other cohorts: the lost one never gives its own again.
    const wasLostHere = loss.node === slices.state.node && loss.partitions.includes(slices.partition);
    const waiting = slices.committed.get(txId);
    const outcome = slices.outcomes.get(txId, 0);
    if (waiting?.ct === ts) slices.takeBack(waiting, out);
    const endsAt = known === undefined ? -1 : attemptOf(known);
    if (isHere || (wasLostHere && endsAt < attempt)) slices.outcomes.tombstone(txId, attempt, now, out);
    return outcome?.status === 'committed' && outcome.ts === ts;
  }

  /**
   * Whether the attempt, as far as its cohorts are known here, had one on the node that lost its disk (D12). Another
   * attempt than the one that is known here has cohorts of its own, which are not known.
   */
  mayBeLost({ txId, node, attempt, ts }: Loss): boolean {
    const known = this.slices.known(txId, 0);
    if (known?.state === 'prepared') {
      const { record } = known.prepared;
      return record.attempt !== attempt || this.slices.partitionsOn(node, record).length > 0;
    }
    if (known?.state !== 'committed' || known.digest === '' || known.ct !== ts) return true;
    return this.slices.partitionsOn(node, cohortsIn(known.digest)).length > 0;
  }

  /**
   * The state of a transaction, and the attempt that it belongs to: a commit of which a lost disk took a part is no
   * commit; while that is open, it is undecided. A later attempt than the lost one counts for itself (D4).
   */
  reported(txId: TxId, known: Known | undefined): Pick<OutcomeResp, 'state' | 'attempt'> | undefined {
    const loss = this.slices.state.losses.get(txId);
    if (loss !== undefined && !isLater(known, loss)) return { state: 'reported', attempt: loss.attempt };
    if (known === undefined) return undefined;
    // M7: a refused round decides nothing about a slice that is deferred.
    const isRefused = known.state === 'aborted' && this.slices.deferred.get(txId) !== undefined;
    const isOpen = known.state === 'committed' && this.#isOpen(known.ct, known.digest);
    const state = isOpen ? 'prepared' : isRefused ? 'deferred' : known.state;
    return { state, attempt: attemptOf(known) };
  }

  /** Whether a transaction that is committed here may have lost a part with a disk, and that is open. */
  #isOpen(ts: Timestamp, digest: string): boolean {
    const { stable, membership } = this.slices.state;
    if (membership.unsettledPeers.size === 0 || ts <= stable.aggregated || digest === '') return false;
    const record = cohortsIn(digest);
    return [...membership.unsettledPeers].some((node) => this.slices.partitionsOn(node, record).length > 0);
  }
}
