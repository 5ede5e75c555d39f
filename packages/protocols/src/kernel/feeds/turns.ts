/**
 * When readers take their turns. Pages of several partitions come one after the other when stable time has moved:
 * readers at the tails are looked at once for all of them. After a full step the readers rest, so that other work of
 * the node goes on; meanwhile changes gather, and the next answers have all of them. So a node that has more to send
 * than it can sends fewer answers, each with more in it.
 */
import type { WallMs } from '@isochron/core';

/** How long readers at the tails wait for the pages of other partitions. */
const GATHER_MS = 2;
/** How long readers rest after a full step: about as long as a node takes for such a step and its answers. */
const REST_MS = 10;

export class Turns {
  /** When the gathered readers are due. */
  gatheredBy: WallMs = Number.NEGATIVE_INFINITY;
  /** A step was full. Its answers leave before the next timer: the rest begins with that. */
  #isFull = false;
  #restUntil: WallMs = Number.NEGATIVE_INFINITY;

  /** The first reader is gathered. */
  gather(now: WallMs): void {
    this.gatheredBy = now + GATHER_MS;
  }

  /** A step could not look at all readers. */
  full(): void {
    this.#isFull = true;
  }

  /** A timer has fired: perhaps that of the next turn. */
  timer(now: WallMs): void {
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#restUntil = now + REST_MS;
  }

  isResting(now: WallMs): boolean {
    return this.#isFull || now < this.#restUntil;
  }

  /** The time of the next turn, while readers wait for one. */
  next(now: WallMs): WallMs {
    return this.#isFull ? now : Math.max(now, this.#restUntil);
  }
}
