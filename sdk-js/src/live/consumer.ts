/** One reader of a watch: it has at most one result that is not taken, the newest. */
import { toIsochronError } from '@isochron/client/errors';
import { openLive } from '@isochron/client/live/live';
import type { LiveObserver, ScopeView } from '@isochron/client/live/observer';
import type { IsochronError } from '@isochron/core/errors';
import type { Timestamp } from '@isochron/core/ids';
import type { Watched } from '../api/watched.js';
import { type Reading, readingOf } from './plan.js';

/** Called outside of the machine's steps. */
export interface ConsumerEvents {
  /** A result waits to be taken. */
  changed(): void;
  /** No result follows. */
  failed(error: IsochronError): void;
}

export class Consumer<R> implements LiveObserver {
  readonly #watch: Watched;
  readonly #events: ConsumerEvents;
  #reading: Reading<unknown> | undefined;
  #snapshot: Timestamp | undefined;
  #isFresh = false;
  #hasEnded = false;

  constructor(watch: Watched, events: ConsumerEvents) {
    this.#watch = watch;
    this.#events = events;
    // A reader that ends in the turn of its begin, as in a component that is mounted twice, costs no request.
    queueMicrotask(() => this.#open());
  }

  /** Whether a result waits to be taken. */
  get isFresh(): boolean {
    return this.#isFresh;
  }

  next(snapshot: Timestamp, views: readonly ScopeView[]): void {
    const isFirst = this.#snapshot === undefined;
    this.#snapshot = snapshot;
    try {
      if (!this.#reading!.update(views) && !isFirst) return;
    } catch (error) {
      this.failed(toIsochronError(error));
      return;
    }
    if (this.#isFresh) return;
    this.#isFresh = true;
    this.#watch.driver.afterStep(() => this.#isFresh && this.#events.changed());
  }

  failed(error: IsochronError): void {
    this.#watch.driver.afterStep(() => {
      if (this.#hasEnded) return;
      this.close();
      this.#events.failed(error);
    });
  }

  /** The newest result. */
  take(): R {
    this.#isFresh = false;
    const { driver } = this.#watch;
    const snapshot = this.#snapshot!;
    const { hasPendingWrites } = this.#reading!;
    const meta = { fromCache: false, hasPendingWrites, stalenessMs: driver.ageMs(snapshot), complete: true };
    return this.#reading!.take({ snapshot, meta }) as R;
  }

  /** No event follows. */
  close(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#isFresh = false;
    if (this.#reading !== undefined) this.#watch.driver.step({ kind: 'unwatch', observer: this });
  }

  #open(): void {
    if (this.#hasEnded) return;
    const { driver, plan } = this.#watch;
    try {
      const reading = readingOf(driver, plan);
      this.#reading = reading;
      driver.step({ kind: 'watch', open: openLive, observer: this, scopes: reading.scopes });
    } catch (error) {
      this.close();
      this.#events.failed(toIsochronError(error));
    }
  }
}
