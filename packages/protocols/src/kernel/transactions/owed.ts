/**
 * The order of what a returned node commits again (M11). A transaction follows the earlier writes of its session that
 * were not stable yet: its slices name their timestamps. And it follows an earlier write of the same key, by first
 * timestamps. Reads add nothing: a snapshot is stable, so nothing in it is deferred.
 */
import type { QualifiedKey, Timestamp } from '@isochron/core';
import type { DeferredSlice } from './return-messages.js';

/** A deferred transaction: an attempt has every slice, or another node must be back first. */
export interface FoundTransaction {
  /** The earliest timestamp of the transaction in any attempt (M8). */
  readonly first: Timestamp;
  /** Whether a slice of some attempt needs a node that is away: the transaction is not committed again now. */
  readonly waits: boolean;
  /** Of one attempt; of all attempts where it waits. */
  readonly slices: readonly DeferredSlice[];
  /** Commit timestamps of the slices of all attempts, and proposals of votes: a commit has the greatest of these. */
  readonly timestamps: readonly Timestamp[];
}

/** A transaction that is to be committed again. */
export class Owed {
  readonly first: Timestamp;
  readonly slices: readonly DeferredSlice[];
  /** Earlier writes, as maps judge these (M4): the last timestamp on each node; without a number, on any node. */
  readonly behind = new Map<number | undefined, Timestamp>();
  /** The highest new timestamp of the transactions before. */
  hwt: Timestamp = 0;
  /** How many rounds were refused. */
  rounds = 0;
  readonly #followers: Owed[] = [];
  #waitsFor = 0;

  constructor({ first, slices }: FoundTransaction) {
    this.first = first;
    this.slices = slices;
    for (const { ct, node } of slices.flatMap(({ needs = [] }) => needs))
      if (ct !== undefined) this.#isBehind(node, ct);
  }

  /** Whether all transactions before are committed again. */
  get isReady(): boolean {
    return this.#waitsFor === 0;
  }

  follows(others: ReadonlySet<Owed>): void {
    this.#waitsFor = others.size;
    for (const other of others) other.#followers.push(this);
  }

  /**
   * The transaction is committed again. Returns the transactions that have not waited for others.
   * @param nodes numbers of the nodes with slices of it; undefined where the coordinator does not know them
   */
  committed(ct: Timestamp, nodes: readonly number[] | undefined): Owed[] {
    for (const follower of this.#followers) {
      follower.hwt = Math.max(follower.hwt, ct);
      for (const [node, earlier] of this.behind) follower.#isBehind(node, earlier);
      for (const node of nodes ?? [undefined]) follower.#isBehind(node, ct);
      follower.#waitsFor--;
    }
    return this.#followers.filter(({ isReady }) => isReady);
  }

  #isBehind(node: number | undefined, ct: Timestamp): void {
    this.behind.set(node, Math.max(ct, this.behind.get(node) ?? 0));
  }
}

/**
 * The transactions that are to be committed again: how many, and the transactions that follow no other, in the order
 * of their first timestamps; all others are behind these. What follows a transaction of its session that waits is left
 * out.
 */
export function inChains(found: readonly FoundTransaction[]): { readonly count: number; readonly ready: Owed[] } {
  const idOf = ({ slices }: FoundTransaction) => slices[0]!.txId;
  const inOrder = [...found].sort((a, b) => a.first - b.first || (idOf(a) < idOf(b) ? -1 : 1));
  const lastOf = new Map<QualifiedKey, Owed>();
  const byTimestamp = new Map<Timestamp, Owed[]>();
  const left = new Set<Owed>();
  const all = inOrder.map((transaction) => {
    const owed = new Owed(transaction);
    const keys = owed.slices.flatMap(({ writes }) => writes.map(({ key }) => key));
    const ofKeys = keys.flatMap((key) => lastOf.get(key) ?? []);
    const ofSession = [...owed.behind.values()].flatMap((ct) => byTimestamp.get(ct) ?? []);
    if (transaction.waits || ofSession.some((earlier) => left.has(earlier))) left.add(owed);
    else owed.follows(new Set([...ofKeys, ...ofSession]));
    for (const key of left.has(owed) ? [] : keys) lastOf.set(key, owed);
    for (const ct of new Set(transaction.timestamps)) byTimestamp.set(ct, [...(byTimestamp.get(ct) ?? []), owed]);
    return owed;
  });
  const owing = all.filter((owed) => !left.has(owed));
  return { count: owing.length, ready: owing.filter(({ isReady }) => isReady) };
}
