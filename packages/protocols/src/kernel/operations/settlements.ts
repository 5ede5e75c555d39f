/**
 * Responses of replicas about earlier attempts of PUTs (D4, retries anywhere). They are final, so a retry uses them
 * instead of asking again. Responses that arrive after the commit timeout count too: where a round trip takes longer
 * than the timeout, no retry would end without them.
 */
import type { PartitionId, RegionId, TxId } from '@isochron/core';
import type { SettleResp } from './messages.js';

/** The response of one home's replica, and the latest attempt that it was asked about. */
export interface Settled extends Pick<SettleResp, 'state' | 'ts'> {
  readonly attempt: number;
}

/** How many PUTs are kept. Questions about an earlier one are repeated. */
const MAX_PUTS = 10_000;

export class Settlements {
  readonly #puts = new Map<string, Map<RegionId, Settled>>();

  /** The responses about one PUT, by home. The caller adds those that arrive. */
  of(partition: PartitionId, txId: TxId): Map<RegionId, Settled> {
    const put = `${partition}/${txId}`;
    const known = this.#puts.get(put) ?? new Map<RegionId, Settled>();
    this.#puts.delete(put);
    this.#puts.set(put, known); // the last one to be evicted
    for (const oldest of this.#puts.keys()) {
      if (this.#puts.size <= MAX_PUTS) break;
      this.#puts.delete(oldest);
    }
    return known;
  }
}

/** Whether a response decides `attempt`: an abort covers the attempt that was asked about and those before it. */
export const decides = (settled: Settled | undefined, attempt: number): settled is Settled =>
  settled !== undefined && (settled.state !== 'aborted' || settled.attempt >= attempt);
