import { contentLength, type KeyWrite, type LogGroup, type LoggedTx, type Timestamp } from '@isochron/core';

/** A range of a replication stream: all groups in `(from, to]`; a fragment of a group has `to` = `from` (D6). */
export interface ReplicationRange {
  readonly from: Timestamp;
  readonly to: Timestamp;
  readonly groups: readonly LogGroup[];
}

/** Largest payload of one range, in estimated bytes. */
const MAX_RANGE_BYTES = 512 * 1024;

const writeBytes = (write: KeyWrite): number => write.key.length + contentLength(write.value) + 16;
const namesBytes = (tx: LoggedTx): number => tx.depends?.reduce((sum, { key }) => sum + key.length + 16, 0) ?? 0;
const txBytes = (tx: LoggedTx): number =>
  tx.writes.reduce((sum, write) => sum + writeBytes(write), 32 + 8 * (tx.deps?.length ?? 0) + namesBytes(tx));
/** Estimated size of a group. */
export const groupBytes = (group: LogGroup): number => group.txs.reduce((sum, tx) => sum + txBytes(tx), 0);

/**
 * Cuts groups into ranges of bounded size. A cut between groups raises the receiver's version clock; a cut inside a
 * group does not, so that a group counts with its last part only (P3).
 */
export function cutRanges(from: Timestamp, to: Timestamp, groups: readonly LogGroup[]): ReplicationRange[] {
  const cut: ReplicationRange[] = [];
  let start = from;
  let pending: LogGroup[] = [];
  let bytes = 0;
  const flush = (end: Timestamp) => {
    cut.push({ from: start, to: end, groups: pending });
    start = end;
    pending = [];
    bytes = 0;
  };
  for (const group of groups) {
    const size = groupBytes(group);
    if (pending.length > 0 && bytes + size > MAX_RANGE_BYTES) flush(pending.at(-1)!.ct);
    const parts = size > MAX_RANGE_BYTES ? fragments(group) : [group];
    for (const part of parts.slice(0, -1)) cut.push({ from: start, to: start, groups: [part] });
    pending.push(parts.at(-1)!);
    bytes += Math.min(size, MAX_RANGE_BYTES);
  }
  flush(to);
  return cut;
}

function fragments(group: LogGroup): LogGroup[] {
  const parts: LoggedTx[][] = [[]];
  let bytes = 0;
  for (const tx of group.txs) {
    const size = txBytes(tx);
    if (bytes > 0 && bytes + size > MAX_RANGE_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(tx);
    bytes += size;
  }
  return parts.map((txs) => ({ ct: group.ct, txs }));
}

/** Retries after which a receiver that is reachable should have asked for a broken stream. */
const PATIENCE = 4;

/**
 * The sending end of a stream to one peer replica. It starts, and starts again, with the receiver's resync request;
 * when the log has been replayed, it follows the durable version clock.
 */
export class SendingEnd {
  #sentUpTo: Timestamp | undefined;
  #verified = false;
  #reachable = false;
  /** Retries since the stream broke. */
  #retries = 0;

  /** How far a live stream was sent; undefined while it is broken. */
  get sentUpTo(): Timestamp | undefined {
    return this.#sentUpTo;
  }

  /** Whether its receiver knows that every peer has verified the disk (D10). */
  get verified(): boolean {
    return this.#verified;
  }

  /** Everything up to here has left, and later ranges will. */
  live(sentUpTo: Timestamp, verified: boolean): void {
    this.#sentUpTo = sentUpTo;
    this.#verified = verified;
  }

  /** Ranges in flight may be lost, or the receiver will ask for the later ones. */
  broken(): void {
    this.#sentUpTo = undefined;
    this.#retries = 0;
  }

  /** The link to the receiver is up or down. */
  link(up: boolean): void {
    this.#reachable = up;
    this.broken();
  }

  /** One more retry: whether the receiver leaves the broken stream alone for too long. */
  retried(): boolean {
    if (this.#sentUpTo !== undefined || !this.#reachable) return false;
    this.#retries++;
    return this.#retries > PATIENCE;
  }
}
