/**
 * The gate of protocols that show a peer's version only with what it depends on: what a peer has sent waits in memory, in the order of its
 * source, and is applied when the gate admits it. So the version vector says what is admitted; a crash loses what waits, and it is asked for again from
 * there. Streams are followed by what was *received*.
 */
import type { LogGroup, RegionId, Timestamp, WallMs } from '@isochron/core';
import type { Effects } from '../../machine.js';
import type { ReplicationMessage } from './messages.js';
import { groupBytes } from './replication-stream.js';

/** Decides when what a peer has sent may be applied here. */
export interface Gate {
  /**
   * Whether the first group that waits may be applied now. It is asked again after every step of its replica, and when something else was applied; it may
   * look ahead, and ask for what is missing.
   */
  admits(source: RegionId, waiting: readonly LogGroup[], now: WallMs, out: Effects<ReplicationMessage>): boolean;
  /** What it knows of these is of no use any more: they have been applied, or will come again. */
  forget(groups: readonly LogGroup[]): void;
}

/** What one peer has sent and is not admitted yet. */
export class PeerBacklog {
  readonly #groups: LogGroup[] = [];
  /** How far the version clock comes with each group. */
  readonly #upTo: Timestamp[] = [];
  #bytes = 0;
  #received: Timestamp = 0;
  #group: Timestamp = 0;
  #rejected = false;

  /** @param maxBytes beyond this nothing is taken in, in estimated bytes (D11) */
  constructor(readonly maxBytes: number) {}

  /** In the order of their source. */
  get groups(): readonly LogGroup[] {
    return this.#groups;
  }

  /** Everything up to here has come. */
  get received(): Timestamp {
    return this.#received;
  }

  /** The highest timestamp of a group that has come whole. */
  get group(): Timestamp {
    return this.#group;
  }

  get full(): boolean {
    return this.#bytes > this.maxBytes;
  }

  /** Whether something was not taken in: it is asked for when there is room. */
  get rejected(): boolean {
    return this.#rejected;
  }

  /** There is room for it again. */
  get canResume(): boolean {
    return this.#rejected && this.#bytes <= this.maxBytes / 2;
  }

  /** Something came, and there was no room. */
  reject(): void {
    this.#rejected = true;
  }

  /** What was turned away is asked for. */
  asked(): void {
    this.#rejected = false;
  }

  /** @param upTo how far the version clock comes with it; a fragment does not raise it (P3) */
  add(group: LogGroup, upTo: Timestamp): void {
    this.#groups.push(group);
    this.#upTo.push(upTo);
    this.#bytes += groupBytes(group);
    if (upTo >= group.ct) this.#group = Math.max(this.#group, group.ct);
  }

  /** The version clock of the source. Returns whether nothing waits that it covers. */
  advance(to: Timestamp): boolean {
    this.#received = Math.max(this.#received, to);
    const last = this.#groups.length - 1;
    if (last < 0) return true;
    this.#upTo[last] = Math.max(this.#upTo[last]!, to);
    return false;
  }

  /** The first one leaves. */
  take(): { readonly group: LogGroup; readonly upTo: Timestamp } {
    const group = this.#groups.shift()!;
    this.#bytes -= groupBytes(group);
    return { group, upTo: this.#upTo.shift()! };
  }

  /** What waits is given up: the source has lost it, or starts anew. */
  clear(): void {
    this.#groups.length = 0;
    this.#upTo.length = 0;
    this.#bytes = 0;
    this.#received = 0;
    this.#group = 0;
    this.#rejected = false;
  }
}
