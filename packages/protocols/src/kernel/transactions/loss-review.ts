/**
 * The review of reported losses (D10): a transaction of which a lost disk took an attempt is no loss once a later
 * attempt has committed (D4). Only the cohorts of that attempt know, so a node asks the replicas of the transaction's
 * partitions about each of its losses that were taken back, at growing intervals, as long as a later attempt may begin.
 */
import { packWall, type Timestamp, type TxId, type WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import { Addresses, type NodeState } from '../node-state.js';
import { DISCARD_STEP } from '../outcomes.js';
import type { Loss } from '../replication/losses.js';
import type { OutcomeResp, TransactionMessage } from './messages.js';

type Out = Effects<TransactionMessage>;

/** The first and the longest time between two questions about a loss. */
const FIRST_MS = 500;
const LONGEST_MS = 60_000;
/** Questions at a time. */
const AT_ONCE = 20;

/** The questions about a loss. */
interface Questions {
  readonly ref: number;
  readonly pauseMs: number;
  readonly nextAt: WallMs;
}

export class LossReview {
  readonly #addresses: Addresses;
  readonly #questions = new Map<TxId, Questions>();
  readonly #asked = new Map<number, TxId>();
  #nextRef = 0;

  constructor(readonly state: NodeState) {
    this.#addresses = new Addresses(state.maps);
  }

  /** Asks about losses whose time has come. */
  ask(now: WallMs, out: Out): void {
    const { losses, settings, stable } = this.state;
    const kept = Math.min(stable.aggregated, packWall(now - settings.outcomeRetentionMs));
    const from = kept - DISCARD_STEP;
    let asked = 0;
    for (const loss of losses.records) {
      if (asked === AT_ONCE) return;
      if (!this.#isDue(loss, from, now)) continue;
      asked++;
      this.#ask(loss, now, out);
    }
  }

  onOutcomeResp({ ref, partition, state, ts }: OutcomeResp, { node }: Address, out: Out): void {
    const txId = this.#asked.get(ref);
    const { losses, topology } = this.state;
    const loss = txId === undefined ? undefined : losses.get(txId);
    if (loss === undefined || state !== 'committed' || ts === loss.ts) return;
    const { regions } = topology.partitions[partition] ?? { regions: [] };
    if (!regions.some((region) => topology.replicaNode(partition, region) === node)) return;
    losses.overtake(loss.txId, out);
    this.#drop(loss.txId);
  }

  /** No attempt begins once every replica has dropped the outcomes of that time (D5). */
  #isDue({ txId, ts, takenBack, overtaken }: Loss, from: Timestamp, now: WallMs): boolean {
    if (takenBack && !overtaken && ts >= from) return (this.#questions.get(txId)?.nextAt ?? now) <= now;
    this.#drop(txId);
    return false;
  }

  #ask({ txId, partitions, keys }: Loss, now: WallMs, out: Out): void {
    const { topology, clock } = this.state;
    const pauseMs = Math.min(LONGEST_MS, 2 * (this.#questions.get(txId)?.pauseMs ?? FIRST_MS / 2));
    this.#drop(txId);
    const ref = Math.max(this.#nextRef, clock.latest(now, 0));
    this.#nextRef = ref + 1;
    this.#asked.set(ref, txId);
    this.#questions.set(txId, { ref, pauseMs, nextAt: now + pauseMs });
    for (const partition of new Set([...partitions, ...keys.map((key) => topology.partitionOf(key))]))
      for (const region of topology.partitions[partition]!.regions)
        out.send(this.#addresses.replica(partition, region), { type: 'OutcomeReq', ref, partition, txId });
  }

  #drop(txId: TxId): void {
    const questions = this.#questions.get(txId);
    if (questions === undefined) return;
    this.#asked.delete(questions.ref);
    this.#questions.delete(txId);
  }
}
