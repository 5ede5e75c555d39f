/** The observers and their scopes: each observer gets all of its scopes at one snapshot, in one call (LQ1). */
import type { IsochronError } from '@isochron/core/errors';
import type { QualifiedKey, Timestamp } from '@isochron/core/ids';
import type { LiveObserver } from './observer.js';
import type { Scope } from './scope.js';

interface ObservedWatch {
  readonly observer: LiveObserver;
  readonly scopes: readonly Scope[];
  /** Whether its observer has been called. */
  isShown: boolean;
}

const NO_KEYS: ReadonlySet<QualifiedKey> = new Set();

export class Observers {
  readonly #watches = new Map<LiveObserver, ObservedWatch>();
  readonly #byScope = new Map<Scope, Set<ObservedWatch>>();
  readonly #unshown = new Set<ObservedWatch>();

  /** All observed scopes. */
  get scopes(): IterableIterator<Scope> {
    return this.#byScope.keys();
  }

  has(observer: LiveObserver): boolean {
    return this.#watches.has(observer);
  }

  add(observer: LiveObserver, scopes: readonly Scope[]): void {
    const watch = { observer, scopes, isShown: false };
    this.#watches.set(observer, watch);
    this.#unshown.add(watch);
    for (const scope of scopes) {
      const watches = this.#byScope.get(scope);
      if (watches === undefined) this.#byScope.set(scope, new Set([watch]));
      else watches.add(watch);
    }
  }

  /** Ends an observer. Returns the scopes that no other one has. */
  remove(observer: LiveObserver): readonly Scope[] {
    const watch = this.#watches.get(observer);
    if (watch === undefined) return [];
    this.#watches.delete(observer);
    this.#unshown.delete(watch);
    return [...new Set(watch.scopes)].filter((scope) => {
      const watches = this.#byScope.get(scope)!;
      watches.delete(watch);
      return watches.size === 0 && this.#byScope.delete(scope);
    });
  }

  /** The observers of a scope. */
  of(scope: Scope): readonly LiveObserver[] {
    return [...(this.#byScope.get(scope) ?? [])].map(({ observer }) => observer);
  }

  /** Calls the observers of scopes that have changed, and those whose scopes are complete for the first time. */
  flush(snapshot: Timestamp, dirty: Iterable<Scope>): void {
    const changed = new Map<Scope, ReadonlySet<QualifiedKey>>();
    const watches = new Set<ObservedWatch>();
    for (const scope of dirty) {
      changed.set(scope, scope.takeChanged());
      for (const watch of this.#byScope.get(scope) ?? []) if (watch.isShown) watches.add(watch);
    }
    for (const watch of this.#unshown) if (watch.scopes.every(isComplete)) watches.add(watch);
    for (const watch of watches) this.#call(watch, snapshot, changed);
  }

  #call(watch: ObservedWatch, snapshot: Timestamp, changed: ReadonlyMap<Scope, ReadonlySet<QualifiedKey>>): void {
    const { observer, scopes, isShown } = watch;
    watch.isShown = true;
    this.#unshown.delete(watch);
    const views = scopes.map((scope) => ({
      documents: scope.documents,
      changed: isShown ? (changed.get(scope) ?? NO_KEYS) : new Set(scope.documents.keys()),
    }));
    if (!isShown || views.some((view) => view.changed.size > 0)) observer.next(snapshot, views);
  }

  /** Ends all observers. */
  close(error: IsochronError): void {
    const all = [...this.#watches.keys()];
    this.#watches.clear();
    this.#byScope.clear();
    this.#unshown.clear();
    for (const observer of all) observer.failed(error);
  }
}

const isComplete = ({ state }: Scope): boolean => state !== 'reading';
