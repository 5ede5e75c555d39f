/**
 * An attempt that commits again, at a cohort that may have received the transaction from a node that is suspended now
 * (M8): up to the horizon, every member has in its log what that node has committed. No cohort that is left knows the
 * outcome, so the log is searched.
 */
import type { Timestamp, TxId } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import { type NodeState, replicaName } from '../node-state.js';
import type { FindCommit, PrepareReq, TransactionMessage } from './messages.js';
import { unremembered } from './refusals.js';
import { type Asked, isRepeatable, mayBeAgain } from './repeats.js';

/** What the search has found. */
export type Past =
  /** The log names the attempt of a commit that was made again; any other counts as the first attempt. */
  | { readonly is: 'committed'; readonly ct: Timestamp; readonly attempt: number }
  /** The log does not reach back far enough. */
  | { readonly is: 'forgotten'; readonly refusal: ReturnType<typeof unremembered> }
  | { readonly is: 'new' };

export class PastCommits {
  readonly #asked = new Map<TxId, Asked>();

  constructor(
    readonly partition: number,
    readonly state: NodeState,
  ) {}

  /**
   * Whether the log may have a request that is new here. A request that may be repeated for minutes has an outcome at
   * every replica; what a node commits again was deferred, and so it lies above the horizon.
   */
  mustLook(request: PrepareReq): boolean {
    const { identity, digest, sentAfter } = request;
    if (digest !== undefined || isRepeatable(request) || !mayBeAgain(identity, this.state.maps)) return false;
    return sentAfter < this.#horizon(identity.map);
  }

  /** Looks for a request that is new here. False if there is no need. */
  look(request: PrepareReq, from: Address, out: Effects<TransactionMessage>): boolean {
    if (!this.mustLook(request)) return false;
    const { identity, sentAfter: after } = request;
    const { txId, map } = identity;
    this.#asked.set(txId, { request, from });
    this.#read({ type: 'FindCommit', txId, after, upTo: this.#horizon(map) }, out);
    return true;
  }

  /** A page of the log is read. Returns the request once its outcome is known. */
  onFindCommit(
    message: FindCommit,
    now: number,
    out: Effects<TransactionMessage>,
  ): (Asked & { readonly past: Past }) | undefined {
    const { txId, after, upTo } = message;
    const asked = this.#asked.get(txId);
    if (asked === undefined) return undefined;
    const page = this.state.reader.changes(this.partition, after, upTo);
    // An entry without writes was taken back, as by a map that has deferred the transaction.
    const found = page.changes.find(({ tx }) => tx.txId === txId && tx.writes.length > 0);
    if (found === undefined && page.truncatedUpTo <= after && page.upTo < upTo) {
      this.#read({ ...message, after: page.upTo }, out);
      return undefined;
    }
    this.#asked.delete(txId);
    if (found !== undefined)
      return { ...asked, past: { is: 'committed', ct: found.ct, attempt: found.tx.attempt ?? 0 } };
    if (page.truncatedUpTo <= after) return { ...asked, past: { is: 'new' } };
    return { ...asked, past: { is: 'forgotten', refusal: unremembered(asked.request.sentAfter, now, this.state) } };
  }

  #horizon(version: number): Timestamp {
    const cuts = this.state.maps.cutsAfter(0).filter(({ map }) => map <= version);
    return cuts.at(-1)?.horizon ?? 0;
  }

  #read(message: FindCommit, out: Effects<TransactionMessage>): void {
    out.send({ node: this.state.node, machine: replicaName(this.partition) }, message);
  }
}
