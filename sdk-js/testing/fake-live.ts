/** A fake of the machine's live queries: the seam `LiveObserver`, over a Map of documents that the test changes. */
import type { LiveDocument, LiveObserver, LiveScope, ScopeView } from '@isochron/client/live/observer';
import { IsochronError } from '@isochron/core/errors';
import { DEFAULT_LIMITS } from '@isochron/core/limits';
import { isOfLevel } from '@isochron/core/versions';
import type { LiveDriver } from '../src/api/watched.js';

interface Observed {
  readonly scopes: readonly LiveScope[];
  readonly changed: Set<string>[];
}

export class FakeLive implements LiveDriver {
  readonly limits = DEFAULT_LIMITS;
  readonly documents = new Map<string, LiveDocument>();
  readonly observers = new Map<LiveObserver, Observed>();
  /** Observers that have ever begun. */
  begun = 0;
  /** The next begin of an observer throws this. */
  refusal: IsochronError | undefined;
  snapshot = 1000;
  /** Whether first results wait for `release`. */
  isHolding = false;
  #due: (() => void)[] = [];

  readonly ageMs = (): number => 7;

  readonly afterStep = (run: () => void): void => {
    this.#due.push(run);
  };

  readonly step: LiveDriver['step'] = (input) => {
    if (input.kind === 'unwatch') this.observers.delete(input.observer);
    if (input.kind !== 'watch') return;
    if (this.refusal !== undefined) input.observer.failed(this.refusal);
    else {
      this.begun++;
      const all = input.scopes.map((scope) => new Set([...this.documents.keys()].filter((key) => isIn(scope, key))));
      this.observers.set(input.observer, { scopes: input.scopes, changed: all });
      if (!this.isHolding) this.#next(input.observer);
    }
    this.#callDue();
  };

  /** Gives the first results. */
  release(): void {
    this.isHolding = false;
    for (const observer of this.observers.keys()) this.#next(observer);
    this.#callDue();
  }

  /** Stores documents, in one step; undefined deletes. The keys are qualified. */
  put(documents: Readonly<Record<string, unknown>>, pending = false): void {
    for (const [key, value] of Object.entries(documents)) {
      if (value === undefined) this.documents.delete(key);
      else this.documents.set(key, { key, value: JSON.stringify(value), pending });
      for (const { scopes, changed } of this.observers.values())
        for (const [i, scope] of scopes.entries()) if (isIn(scope, key)) changed[i]!.add(key);
    }
    this.snapshot++;
    for (const [observer, { changed }] of this.observers)
      if (changed.some(({ size }) => size > 0)) this.#next(observer);
    this.#callDue();
  }

  /** Ends all observers. */
  fail(code: 'WATCH_TOO_LARGE' | 'CLIENT_CLOSED'): void {
    for (const observer of this.observers.keys()) observer.failed(new IsochronError(code, 'of the test'));
    this.#callDue();
  }

  #next(observer: LiveObserver): void {
    const { changed } = this.observers.get(observer)!;
    const views = changed.map((keys): ScopeView => ({ documents: this.documents, changed: new Set(keys) }));
    for (const keys of changed) keys.clear();
    observer.next(this.snapshot, views);
  }

  #callDue(): void {
    for (const run of this.#due.splice(0)) run();
  }
}

const isIn = (scope: LiveScope, key: string): boolean =>
  'keys' in scope ? scope.keys.includes(key) : scope.start <= key && key < scope.end && isOfLevel(scope.level, key);
