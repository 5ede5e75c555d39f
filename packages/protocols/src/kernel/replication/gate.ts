/**
 * The gate of protocols that show a peer's version only with its dependencies: a peer's groups wait in memory, in the
 * order of their source, and are applied when the gate admits them. So the version vector counts admitted groups only.
 * A crash loses the waiting ones, which are requested again from there. Streams are followed by what was *received*.
 */
import type { LogGroup, RegionId, Timestamp, WallMs } from '@isochron/core';
import type { Effects } from '../../machine.js';
import type { ReplicationMessage } from './messages.js';
import { groupBytes } from './replication-stream.js';

/** Decides when a peer's groups may be applied here. */
export interface Gate {
  /**
   * Whether the first waiting group may be applied now. It is called again after every step of its replica, and after
   * other groups were applied; it may look ahead, and ask for missing dependencies.
   */
  admits(source: RegionId, waiting: readonly LogGroup[], now: WallMs, out: Effects<ReplicationMessage>): boolean;
  /** Drops the state of these groups: they have been applied, or will be received again. */
  drop(groups: readonly LogGroup[]): void;
}

/** The groups of one peer that wait to be admitted. */
export class PeerBacklog {
  readonly #groups: LogGroup[] = [];
  /** The version clock after each group. */
  readonly #upTo: Timestamp[] = [];
  #bytes = 0;
  #received: Timestamp = 0;
  #group: Timestamp = 0;
  #rejected = false;

  /** @param maxBytes beyond this it is full, in estimated bytes (D11) */
  constructor(readonly maxBytes: number) {}

  /** In the order of their source. */
  get groups(): readonly LogGroup[] {
    return this.#groups;
  }

  /** Everything up to here was received. */
  get received(): Timestamp {
    return this.#received;
  }

  /** The highest timestamp of a group that was received whole. */
  get group(): Timestamp {
    return this.#group;
  }

  get full(): boolean {
    return this.#bytes > this.maxBytes;
  }

  /** Whether a range was rejected: it is requested again when there is room. */
  get rejected(): boolean {
    return this.#rejected;
  }

  /** There is room for the rejected range. */
  get canResume(): boolean {
    return this.#rejected && this.#bytes <= this.maxBytes / 2;
  }

  /** A range was received, and there was no room. */
  reject(): void {
    this.#rejected = true;
  }

  /** The rejected range is requested again. */
  asked(): void {
    this.#rejected = false;
  }

  /** @param upTo the version clock after the group; a fragment does not raise it (P3) */
  add(group: LogGroup, upTo: Timestamp): void {
    this.#groups.push(group);
    this.#upTo.push(upTo);
    this.#bytes += groupBytes(group);
    if (upTo >= group.ct) this.#group = Math.max(this.#group, group.ct);
  }

  /** The version clock of the source. Returns whether no waiting group is covered by it. */
  advance(to: Timestamp): boolean {
    this.#received = Math.max(this.#received, to);
    const last = this.#groups.length - 1;
    if (last < 0) return true;
    this.#upTo[last] = Math.max(this.#upTo[last]!, to);
    return false;
  }

  /** Removes the first group. */
  take(): { readonly group: LogGroup; readonly upTo: Timestamp } {
    const group = this.#groups.shift()!;
    this.#bytes -= groupBytes(group);
    return { group, upTo: this.#upTo.shift()! };
  }

  /** The waiting groups are given up: the source has lost them, or starts anew. */
  clear(): void {
    this.#groups.length = 0;
    this.#upTo.length = 0;
    this.#bytes = 0;
    this.#received = 0;
    this.#group = 0;
    this.#rejected = false;
  }
}
