import type { Timestamp } from '@isochron/core';
import type { WriteSeq } from '../../machine.js';

/**
 * How far a peer's stream is trusted (D10). What a peer sends whose disk not everybody has vouched for may have a hole: it is applied, but its
 * version clock counts for UST only as far as it went before. When the disk was an old one indeed, the peer comes back with what anybody has of it,
 * and its stream is heard a second time from there: the limit stands until that has come as far as the first time, durably.
 */
export class Trust {
  #limit: Timestamp | undefined;
  #again: Timestamp | undefined;
  #restoredWith: WriteSeq | undefined;
  #vouched = false;

  /** @param limit as the disk has it: what was heard beyond is heard a second time, at least */
  constructor(limit: Timestamp | undefined) {
    this.#limit = limit;
    this.#again = limit;
  }

  /** How far the peer's version clock counts; undefined: as far as it goes. */
  get limit(): Timestamp | undefined {
    return this.#limit;
  }

  /** What the disk is to know of the limit. */
  get kept(): Timestamp | undefined {
    return this.#restoredWith === undefined ? this.#limit : undefined;
  }

  /** Everything up to here has come for the second time; undefined while it is not heard again. */
  get position(): Timestamp | undefined {
    return this.#again;
  }

  /** Whether everybody has vouched for the disk that the last stretch came from. */
  get vouched(): boolean {
    return this.#vouched;
  }

  vouch(): void {
    this.#vouched = true;
  }

  /** What comes now is not vouched for. Returns whether that is news. */
  doubt(at: Timestamp): boolean {
    this.#vouched = false;
    if (this.kept !== undefined) return false;
    this.#limit ??= at;
    this.#restoredWith = undefined;
    return true;
  }

  /** The peer has lost its disk: what came beyond the limit comes again, whole; and what was not applied of what came before. */
  hearAgain(applied: Timestamp): void {
    this.#vouched = false;
    this.#again = this.kept === undefined ? undefined : Math.min(this.kept, applied);
  }

  heard(to: Timestamp): void {
    if (this.#again !== undefined) this.#again = Math.max(this.#again, to);
  }

  /** There is no reason for a limit any more; what `keep` writes says so. */
  restore(keep: () => WriteSeq): void {
    this.#again = undefined;
    this.#restoredWith = 0;
    this.#restoredWith = keep();
  }

  persisted(upTo: WriteSeq): void {
    if (this.#restoredWith === undefined || this.#restoredWith > upTo) return;
    this.#limit = undefined;
    this.#restoredWith = undefined;
  }
}
