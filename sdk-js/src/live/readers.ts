/**
 * The ways to read a watch, the change feed, listings, and the outcomes of claims: one file for bundlers, which then
 * split the rest less.
 */
import type { IsochronError } from '@isochron/core/errors';
import type { Watched } from '../api/watched.js';
import { reasonOf } from '../signals.js';
import { Consumer } from './consumer.js';

export { Cursor } from '../api/cursor.js';

/** Calls a function with every result. Returns a function that ends this. */
export function subscribe<R>(
  watch: Watched,
  listener: (result: R) => void,
  failed: (error: IsochronError) => void,
): () => void {
  const { signal } = watch;
  const consumer = new Consumer<R>(watch, {
    // An error of the application must not stop the others.
    changed: () => void (async () => listener(consumer.take()))().catch(console.error),
    failed: (error) => {
      end();
      void (async () => failed(error))().catch(console.error);
    },
  });
  const end = (): void => {
    signal?.removeEventListener('abort', end);
    consumer.close();
  };
  if (signal?.aborted) end();
  else signal?.addEventListener('abort', end);
  return end;
}

export { decideClaim } from '@isochron/client/session/claim';
export { feed } from './feed.js';

interface PendingNext<R> {
  resolve(result: IteratorResult<R, undefined>): void;
  reject(reason: unknown): void;
}

/** Iterates over the results of a watch. */
export const iterate = <R>(watch: Watched): AsyncIterator<R, undefined> => new Iteration<R>(watch);

class Iteration<R> implements AsyncIterator<R, undefined> {
  readonly #consumer: Consumer<R>;
  readonly #signal: AbortSignal | undefined;
  readonly #waiting: PendingNext<R>[] = [];
  /** How it ended; the error, if it has one, is thrown once. */
  #end: { error?: unknown } | undefined;

  constructor(watch: Watched) {
    this.#signal = watch.signal;
    this.#consumer = new Consumer<R>(watch, {
      changed: () => this.#serve(),
      failed: (error) => this.#finish({ error }),
    });
    if (this.#signal?.aborted) this.#onAbort();
    else this.#signal?.addEventListener('abort', this.#onAbort);
  }

  next(): Promise<IteratorResult<R, undefined>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#serve();
    });
  }

  async return(): Promise<IteratorResult<R, undefined>> {
    this.#finish({});
    return { done: true, value: undefined };
  }

  readonly #onAbort = (): void => this.#finish({ error: reasonOf(this.#signal!) });

  #serve(): void {
    if (this.#end !== undefined) this.#serveEnd(this.#end);
    else if (this.#waiting.length > 0 && this.#consumer.isFresh)
      this.#waiting.shift()!.resolve({ done: false, value: this.#consumer.take() });
  }

  #serveEnd(end: { error?: unknown }): void {
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      const { error } = end;
      if (!('error' in end)) resolve({ done: true, value: undefined });
      else {
        delete end.error;
        reject(error);
      }
    }
  }

  #finish(end: { error?: unknown }): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#consumer.close();
    this.#serve();
  }
}
