/**
 * A cohort's part in overdue decisions (D2): its questions to the other cohorts about its prepared transactions, and
 * its answers to theirs and to nodes that ask for an outcome.
 */
import { IsochronError, type NodeId, type Timestamp, type WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import { Addresses } from '../node-state.js';
import { mapOfRound } from './attempts.js';
import { sameCohorts } from './digest.js';
import { attemptOf, type Known, timeOf } from './known.js';
import type {
  CommitIdentity,
  OutcomeReq,
  ResolveNow,
  ResolveReq,
  ResolveResp,
  TransactionMessage,
} from './messages.js';
import { isCoordinator, type Prepared } from './prepared-queue.js';
import { isCohortOf } from './refusals.js';
import { Resolution } from './resolution.js';
import type { Slices } from './slices.js';
import type { Suspects } from './suspects.js';

type Out = Effects<TransactionMessage>;

export class Resolver {
  readonly #addresses: Addresses;

  constructor(
    readonly slices: Slices,
    readonly suspects: Suspects,
  ) {
    this.#addresses = new Addresses(slices.state.maps);
  }

  /** Asks about prepares that are overdue or have lost a cohort, and about the prepare that a coordinator names. */
  resolveOverdue(now: WallMs, out: Out, named?: ResolveNow): void {
    const { resolveAfterMs } = this.slices.state.settings;
    for (const prepared of this.slices.prepared.values()) {
      const { txId, record, since } = prepared;
      const isNamed = named?.txId === txId && named.attempt === record.attempt;
      const isDue = prepared.resolution !== undefined || isNamed || since + resolveAfterMs <= now;
      if (!isDue && !this.#lacksCohort(prepared)) continue;
      this.#resolve(prepared, now, out);
    }
  }

  #resolve(prepared: Prepared, now: WallMs, out: Out): void {
    const { txId, record } = prepared;
    if (this.#lacksCohort(prepared)) {
      this.slices.counters.resolved++;
      this.slices.abort(prepared, now, out);
      return;
    }
    const own = { partition: this.slices.partition, pt: record.pt };
    prepared.resolution ??= new Resolution(txId, record.cohorts, own, now);
    this.#ask(prepared, prepared.resolution, now, out);
  }

  /** A cohort has left, in order: it had prepared nothing that is undecided, and prepares nothing more in the map. */
  #lacksCohort({ record }: Prepared): boolean {
    return record.cohorts.some((p) => this.#addresses.isGone(this.#addresses.cohort(p, record).node, record));
  }

  /** A prepare of another attempt than the one of a question. False while an earlier one is still open. */
  #endsEarlier(prepared: Prepared, attempt: number, now: WallMs, from: Address, out: Out): boolean {
    return prepared.record.attempt > attempt || this.giveUp(prepared, now, from, out);
  }

  #ask({ txId, record }: Prepared, resolution: Resolution, now: WallMs, out: Out): void {
    const { attempt, home, map, cohorts, avoid, sentAfter } = record;
    const identity = { txId, attempt, home, map, cohorts, avoid };
    for (const partition of resolution.ask(now)) {
      const to = this.#addresses.cohort(partition, identity);
      out.send(to, { type: 'ResolveReq', partition, identity, sentAfter });
    }
  }

  /** A cohort that never prepared the attempt writes a tombstone, and only then answers *aborted*. */
  onResolveReq({ identity, sentAfter, counter }: ResolveReq, now: WallMs, from: Address, out: Out): void {
    if (!isCohortOf(identity, this.slices.partition, this.slices.state)) {
      this.slices.counters.ignored++;
      return;
    }
    const { txId, attempt } = identity;
    const known = this.slices.known(txId, 0);
    const answer = (state: ResolveResp['state'], ts: Timestamp, counted?: ResolveResp['counted']) => {
      const { partition } = this.slices;
      out.sendAfterPersist(from, { type: 'ResolveResp', txId, attempt, partition, state, ts, counted });
    };
    if (known?.state === 'prepared' && known.prepared.record.attempt === attempt) {
      const { record } = known.prepared;
      const same = sameCohorts(record.digest, identity, this.slices.state.maps);
      // An attempt with another list will never be prepared here.
      answer(same ? 'prepared' : 'aborted', same ? record.pt : 0);
    } else if (known?.state === 'committed') {
      // An outcome that was found among copied versions has no digest (D10). A later attempt excludes the earlier ones.
      this.slices.keepDecided(txId, out);
      const found = known.digest === '' && known.attempt <= attempt;
      const same = found || (known.attempt === attempt && sameCohorts(known.digest, identity, this.slices.state.maps));
      // M7: a commit that was made again decides nothing about an attempt that an earlier map has deferred.
      const other = (mapOfRound(known.attempt) ?? 0) > identity.map ? 'deferred' : 'aborted';
      answer(same ? 'committed' : other, same ? known.ct : 0);
    } else if (this.slices.deferred.of(txId).some((deferred) => deferred.attempt >= attempt)) {
      // M7: its old attempt is decided no more.
      answer('deferred', 0);
    } else if (known === undefined && sentAfter < this.#unknownUpTo(from)) {
      const found = counter && this.slices.writeCounters.judge(counter, txId);
      if (found?.is === 'new') {
        this.#refuse(identity, known, now, out);
        answer('aborted', 0);
      } else if (found?.is === 'committed') answer('committed', found.ts, found.shownBy);
      // The answer is never *aborted* if the outcome was dropped (D5), or possibly known to a lost disk. A late prepare
      // is refused without a tombstone.
      else answer('lost', 0);
    } else if (known?.state !== 'prepared' || this.#endsEarlier(known.prepared, attempt, now, from, out)) {
      this.#refuse(identity, known, now, out);
      answer('aborted', 0);
    }
  }

  /**
   * A later attempt has begun: its coordinator states that the earlier ones are aborted (D4). That counts from a node
   * that has coordinated this one. On the word of any other node the cohorts of this attempt are asked, which find the
   * same abort; the sender repeats its message.
   *
   * @returns whether the attempt is aborted now
   */
  giveUp(prepared: Prepared, now: WallMs, from: Address, out: Out): boolean {
    if (isCoordinator(prepared, from)) this.slices.abort(prepared, now, out);
    else this.#resolve(prepared, now, out);
    return isCoordinator(prepared, from);
  }

  /** A tombstone of this attempt, in place of an earlier one. */
  #refuse({ txId, attempt }: CommitIdentity, known: Known | undefined, now: WallMs, out: Out): void {
    if (known === undefined || attemptOf(known) < attempt) this.slices.outcomes.tombstone(txId, attempt, now, out);
  }

  /**
   * A cohort that is still prepared holds UST back below any commit, so the outcome is not dropped; and no vote of a
   * lost disk counts after the settlement (D10). So a transaction that is unknown here has not been committed.
   */
  #unknownUpTo(from: Address): Timestamp {
    return from.machine === 'coordinator' ? this.slices.outcomes.rememberedFrom : 0;
  }

  /** The answer of another cohort about a prepared transaction. */
  onResolveResp(message: ResolveResp, now: WallMs, from: Address, out: Out): void {
    const { slices } = this;
    const prepared = slices.prepared.get(message.txId);
    if (prepared?.record.attempt !== message.attempt || prepared.resolution === undefined) return;
    if (!this.#addresses.isCohort(from.node, message.partition, prepared.record)) {
      slices.ignoreOutsider(message.type, message.txId, from);
      return;
    }
    if (message.state === 'aborted') slices.abort(prepared, now, out);
    else if (message.state === 'deferred') slices.deferPrepared(prepared, out);
    else if (message.state === 'committed') this.#onCommitted(prepared, message.ts, now, out);
    else if (message.state === 'prepared') {
      prepared.resolution.prepared(message.partition, message.ts);
      const ct = prepared.waitsFor === undefined ? prepared.resolution.decided() : undefined;
      if (ct !== undefined) slices.commit(prepared, ct);
    }
    if (slices.prepared.get(message.txId) === undefined) slices.counters.resolved++;
  }

  /**
   * A commit timestamp below the own proposal: the disk has lost the proposal that was counted, and made this one later
   * (D10).
   */
  #onCommitted(prepared: Prepared, ct: Timestamp, now: WallMs, out: Out): void {
    const { txId, record } = prepared;
    const { partition, state } = this.slices;
    if (ct >= record.pt) {
      this.slices.commit(prepared, ct);
      return;
    }
    if (state.topology.partitions[partition]!.regions.length > 1) {
      const detail = `${txId} was committed below the proposal of partition ${partition}: its disk was rolled back.`;
      throw new IsochronError('REBUILD_NEEDED', detail);
    }
    // There is no better copy.
    const keys = record.writes.map(({ key }) => key);
    const lost = { txId, ts: ct, attempt: record.attempt, partitions: [partition], keys, node: state.node };
    const flags = { committed: true, takenBack: false, acknowledged: false, overtaken: false };
    state.losses.add([{ ...lost, ...flags }], out);
    this.slices.abort(prepared, now, out);
  }

  /** A node has lost its disk (D10): the votes of its cohorts, and decisions based on them, no longer count. */
  dropVotes(node: NodeId): void {
    for (const prepared of this.slices.prepared.values()) {
      if (this.slices.partitionsOn(node, prepared.record).length > 0) prepared.resolution = undefined;
    }
  }

  /**
   * A question about the outcome of a transaction.
   *
   * @param verified whether every peer has verified the disk: a rolled-back one knows less than before (D10)
   */
  onOutcomeReq({ ref, txId }: OutcomeReq, verified: boolean, from: Address, out: Out): void {
    const { partition, state, outcomes } = this.slices;
    const known = this.slices.known(txId, 0);
    if (known?.state === 'committed') this.slices.keepDecided(txId, out);
    const mayBeLost = state.membership.incarnation > outcomes.forgottenUpTo;
    const memory = Math.max(outcomes.rememberedFrom, verified ? 0 : state.clock.last);
    const unknown = { state: mayBeLost ? 'lost' : 'unknown', attempt: 0 } as const;
    out.sendAfterPersist(from, {
      type: 'OutcomeResp',
      ref,
      partition,
      ...(this.suspects.reported(txId, known) ?? unknown),
      ts: known === undefined ? memory : timeOf(known),
    });
  }
}
