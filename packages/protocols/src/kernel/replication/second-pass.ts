import type { Timestamp } from '@isochron/core';
import type { WriteSeq } from '../../machine.js';

/**
 * The stream of a peer that has lost its disk is followed a second time, from what is stable (D10): before it was told that its disk is an old
 * one, it may have sent a stretch with a hole, and what anybody has of that is in its new log. What is there stays there; but until the second
 * pass has come as far as the first one, durably, the peer's version clock counts as far as the pass began.
 */
export class SecondPass {
  #position: Timestamp | undefined;
  #began: Timestamp | undefined;
  #endSeq: WriteSeq | undefined;

  /** @param began where a pass began that a former life has not ended */
  constructor(began: Timestamp | undefined) {
    this.#position = began;
    this.#began = began;
  }

  /** Everything up to here has come in this pass; undefined when there is none. */
  get position(): Timestamp | undefined {
    return this.#position;
  }

  /** Where it began, while it goes on. */
  get unfinished(): Timestamp | undefined {
    return this.#position === undefined ? undefined : this.#began;
  }

  /** How far the peer's version clock may count; undefined: as far as it is known. */
  get stable(): Timestamp | undefined {
    return this.#began;
  }

  begin(from: Timestamp): void {
    this.#position = from;
    this.#began = from;
    this.#endSeq = undefined;
  }

  heard(to: Timestamp): void {
    if (this.#position !== undefined) this.#position = Math.max(this.#position, to);
  }

  /** It has come as far as the first one; what `keep` writes says so. */
  end(keep: () => WriteSeq): void {
    this.#position = undefined;
    this.#endSeq = keep();
  }

  persisted(upTo: WriteSeq): void {
    if (this.#endSeq !== undefined && this.#endSeq <= upTo) this.#began = undefined;
  }
}
