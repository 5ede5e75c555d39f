/**
 * Requests that may be repeated for minutes (an Idempotency-Key), at a cohort that has lost its disk since (D5, D10):
 * its peers know whether one was carried out before, because they keep the outcome of each such transaction that they
 * receive. An outcome that has reached no peer is gone with the disk: the request may be carried out again.
 */
import type { NodeId, PartitionId, RegionId, Timestamp, WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { Maps } from '../maps/maps.js';
import { Addresses, type NodeState } from '../node-state.js';
import type { CommitIdentity, OutcomeResp, PrepareReq, TransactionMessage } from './messages.js';

/** A request that waits for the peers' answers. */
export interface Asked {
  readonly request: PrepareReq;
  readonly from: Address;
}

/** How many requests wait for their peers at most: their senders send them again. */
const MAX_ASKED = 1_000;

/**
 * Whether a request may be a repetition of an earlier one: its sentAfter lies below everything that it has read, by the
 * window for repetitions.
 */
export const isRepeatable = ({ sentAfter, ust }: Pick<PrepareReq, 'sentAfter' | 'ust'>): boolean => sentAfter < ust;

/** Whether an attempt may commit again what a map has deferred. */
export const mayBeAgain = ({ attempt, map }: Pick<CommitIdentity, 'attempt' | 'map'>, maps: Maps): boolean =>
  attempt > 0 && maps.suspendsBetween(0, map);

export class Repeats {
  readonly #addresses: Addresses;
  readonly #asked = new Map<number, Asked>();
  #nextRef = 0;

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
  ) {
    this.#addresses = new Addresses(state.maps);
  }

  get #peers(): readonly RegionId[] {
    const { topology, region, maps } = this.state;
    const others = topology.partitions[this.partition]!.regions.filter((other) => other !== region);
    return others.filter((other) => !maps.isEvicted(topology.replicaNode(this.partition, other)!));
  }

  #isPeer(node: NodeId): boolean {
    return this.#peers.some((peer) => this.#addresses.replica(this.partition, peer).node === node);
  }

  /** Whether a request that is new here may have been known to the lost disk, and a peer can answer for it. */
  mustAsk(request: PrepareReq): boolean {
    return request.sentAfter < this.state.membership.incarnation && isRepeatable(request) && this.#peers.length > 0;
  }

  /** Asks the peers about a request that is new here. False if it must be judged without them. */
  ask(request: PrepareReq, from: Address, now: WallMs, out: Effects<TransactionMessage>): boolean {
    if (!this.mustAsk(request)) return false;
    const ref = Math.max(this.#nextRef, this.state.clock.latest(now, 0));
    this.#nextRef = ref + 1;
    this.#asked.set(ref, { request, from });
    if (this.#asked.size > MAX_ASKED) this.#asked.delete(this.#asked.keys().next().value!);
    const { txId } = request.identity;
    for (const peer of this.#peers)
      out.send(this.#addresses.replica(this.partition, peer), {
        type: 'OutcomeReq',
        ref,
        partition: this.partition,
        txId,
      });
    return true;
  }

  /**
   * A peer has answered: the request, and its commit timestamp if it was carried out. Undefined until a peer answers
   * that has kept its outcomes since before the request was first sent.
   */
  answered(
    { ref, state, ts }: OutcomeResp,
    { node }: Address,
  ): (Asked & { readonly committed?: Timestamp }) | undefined {
    const asked = this.#asked.get(ref);
    if (asked === undefined || !this.#isPeer(node)) return undefined;
    const knows = state === 'unknown' ? ts <= asked.request.sentAfter : state === 'committed' || state === 'reported';
    if (!knows) return undefined;
    this.#asked.delete(ref);
    return state === 'committed' ? { ...asked, committed: ts } : asked;
  }
}
