import type { NodeId, WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import { isWait, type Wait, Waiting } from '../waiting.js';
import type { ListSliceReq, ReadSliceReq, TransactionMessage } from './messages.js';
import type { Refusal, Snapshot } from './snapshots.js';

type Out = Effects<TransactionMessage>;

/** A read that waits. */
export interface WaitingRead {
  readonly request: ReadSliceReq | ListSliceReq;
  readonly snapshot: Snapshot;
  /** The node of the coordinator that asks. */
  readonly node: NodeId;
}

/**
 * Reads that wait until their snapshot is installed here, under protocols whose snapshots may lie ahead of a replica
 * (BPR, Cure).
 */
export class WaitingReads {
  readonly #waiting = new Waiting<WaitingRead>('waited');

  constructor(readonly self: Address) {}

  get size(): number {
    return this.#waiting.size;
  }

  get counters(): { readonly blockedReads: number; readonly blockedMs: number; readonly longestBlockMs: number } {
    const { blocked, blockedMs, longestBlockMs } = this.#waiting.counters;
    return { blockedReads: blocked, blockedMs, longestBlockMs };
  }

  /** A read that its coordinator repeats waits once. */
  add(read: WaitingRead, since: WallMs, wait: Wait, out: Out): void {
    this.#waiting.add(`${read.node}/${read.request.ref}`, read, since, wait, out);
  }

  /**
   * Resumes the reads that are ready, as messages of their own, so that the driver can bring their versions to memory
   * again.
   */
  release(obstacle: (snapshot: Snapshot) => Wait | Refusal | undefined, out: Out): void {
    const waits = ({ snapshot }: WaitingRead) => {
      const found = obstacle(snapshot);
      return isWait(found) ? found : undefined;
    };
    this.#waiting.release(
      waits,
      ({ node, request }, since) => out.send(this.self, { type: 'WaitedRead', node, request, since }),
      out,
    );
  }

  /** Removes the reads that have waited for too long. */
  expired(now: WallMs, afterMs: number): WaitingRead[] {
    return this.#waiting.expired(now, afterMs);
  }

  /** A wait is over, because the read is answered. */
  ended(since: WallMs, now: WallMs): void {
    this.#waiting.ended(since, now);
  }
}
