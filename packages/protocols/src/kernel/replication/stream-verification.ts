import type { Timestamp } from '@isochron/core';
import type { WriteSeq } from '../../machine.js';

/**
 * How far a peer's stream is trusted (D10). What a peer sends whose disk not every peer has verified may have a hole: it is applied, but its
 * version clock counts for UST only as far as it went before. When the disk was an old one indeed, the peer comes back with what anybody has of it,
 * and its stream is heard a second time from there: the cap stands until that has come as far as the first time, durably.
 */
export class StreamVerification {
  #cap: Timestamp | undefined;
  #resentUpTo: Timestamp | undefined;
  #restoredWith: WriteSeq | undefined;
  #verified = false;

  /** @param cap as the disk has it: what was heard beyond is heard a second time, at least */
  constructor(cap: Timestamp | undefined) {
    this.#cap = cap;
    this.#resentUpTo = cap;
  }

  /** How far the peer's version clock counts; undefined: as far as it goes. */
  get cap(): Timestamp | undefined {
    return this.#cap;
  }

  /** What the disk is to know of the cap. */
  get persistedCap(): Timestamp | undefined {
    return this.#restoredWith === undefined ? this.#cap : undefined;
  }

  /** Everything up to here has come for the second time; undefined while it is not heard again. */
  get resentUpTo(): Timestamp | undefined {
    return this.#resentUpTo;
  }

  /** Whether every peer has verified the disk that the last range came from. */
  get verified(): boolean {
    return this.#verified;
  }

  verify(): void {
    this.#verified = true;
  }

  /** What comes now is not verified. Returns whether that is news. */
  markUnverified(at: Timestamp): boolean {
    this.#verified = false;
    if (this.persistedCap !== undefined) return false;
    this.#cap ??= at;
    this.#restoredWith = undefined;
    return true;
  }

  /** The peer has lost its disk: what came beyond the cap comes again, whole; and what was not applied of what came before. */
  restartFrom(applied: Timestamp): void {
    this.#verified = false;
    this.#resentUpTo = this.persistedCap === undefined ? undefined : Math.min(this.persistedCap, applied);
  }

  received(to: Timestamp): void {
    if (this.#resentUpTo !== undefined) this.#resentUpTo = Math.max(this.#resentUpTo, to);
  }

  /** There is no reason for a cap any more; what `keep` writes says so. */
  restore(keep: () => WriteSeq): void {
    this.#resentUpTo = undefined;
    this.#restoredWith = 0;
    this.#restoredWith = keep();
  }

  persisted(upTo: WriteSeq): void {
    if (this.#restoredWith === undefined || this.#restoredWith > upTo) return;
    this.#cap = undefined;
    this.#restoredWith = undefined;
  }
}
