/**
 * Live queries: the client is one more reader of the ordered log. It has one snapshot, its position, with the documents
 * of all scopes, and its own writes above.
 *
 * - All scopes are at one position, and move to the next one together (LQ1). A new scope is read at a snapshot of its
 *   own, and joins when the position is there; without other scopes, the position begins at its snapshot.
 * - Each answer of the feed is about the scopes that its request, or one before, named. A request names a time at or
 *   below the position of each scope, and changes at or below a scope's position are dropped: so answers may overlap,
 *   and come late or twice.
 * - An own write is laid over until the position has passed its timestamp (LQ2). While a write may have had an effect,
 *   its timestamp is unknown, and may lie anywhere: an answer that comes meanwhile is applied once it is decided.
 * - If the log does not go back to the position, all scopes are read anew at one snapshot above it, and replaced (LQ3).
 * - The session has seen the position (LQ5).
 *
 * `scope.ts` has the states of a scope.
 */
import { IsochronError } from '@isochron/core/errors';
import { clientClosed, toIsochronError } from '../errors.js';
import type { ClientCore } from '../session/core.js';
import { Feed } from './feed.js';
import type { LiveObserver, LiveQueries, LiveScope } from './observer.js';
import { Observers } from './observers.js';
import { Position } from './position.js';
import { nameOf, Scope, watchTooLarge } from './scope.js';

/** Live queries of a client. */
export const openLive = (core: ClientCore): LiveQueries => new Live(core);

class Live implements LiveQueries {
  readonly #core: ClientCore;
  readonly #observers = new Observers();
  readonly #scopes = new Map<string, Scope>();
  readonly #feed: Feed;
  /** Undefined while nothing is observed. */
  #position: Position | undefined;

  constructor(core: ClientCore) {
    this.#core = core;
    this.#feed = new Feed(core, {
      scopes: () => this.#observers.scopes,
      after: () => this.#position?.after,
      isBehind: () => this.#position?.isBehind ?? false,
      answered: (request, answer) => this.#position?.answered(request, answer),
      gone: () => this.#position?.gone(),
      refused: (scopes, error) => this.#fail(scopes, error),
    });
  }

  watch(observer: LiveObserver, scopes: readonly LiveScope[]): void {
    try {
      this.#check(observer, scopes);
      if (scopes.length === 0) {
        // Nothing of an empty result changes.
        this.#observers.add(observer, []);
        this.#observers.flush(this.#position?.at ?? this.#core.engine.ust, []);
        return;
      }
      this.#position ??= this.#begin();
      const added: Scope[] = [];
      this.#observers.add(
        observer,
        scopes.map((scope) => this.#scope(scope, added)),
      );
      if (added.length === 0) return;
      this.#position.read(added);
      this.#feed.request();
    } catch (error) {
      this.unwatch(observer);
      observer.failed(toIsochronError(error));
    }
  }

  unwatch(observer: LiveObserver): void {
    for (const scope of this.#observers.remove(observer)) {
      this.#scopes.delete(scope.name);
      this.#position?.drop(scope);
      this.#feed.remove(scope);
    }
    if (this.#scopes.size > 0) return;
    this.#position?.end();
    this.#position = undefined;
  }

  flush(): void {
    const position = this.#position;
    if (position?.at === undefined) return;
    const dirty = position.documents.takeDirty();
    const tooLarge = [...dirty].filter(({ isTooLarge }) => isTooLarge);
    for (const scope of dirty)
      if (scope.takeLarge())
        this.#core.loop.warn(
          `a watch of ${scope.documents.size} documents is near its limit: ${watchTooLarge().message}`,
        );
    if (tooLarge.length > 0) this.#fail(tooLarge, watchTooLarge());
    this.#observers.flush(position.at, dirty);
  }

  close(): void {
    this.#position?.end();
    this.#position = undefined;
    this.#scopes.clear();
    this.#observers.close(clientClosed());
  }

  /** @throws IsochronError why these scopes cannot be watched */
  #check(observer: LiveObserver, scopes: readonly LiveScope[]): void {
    const core = this.#core;
    if (core.isClosing) throw clientClosed();
    if (!core.can('live-queries')) throw core.unsupported('has no live queries: read again');
    if (this.#observers.has(observer)) throw new IsochronError('INVALID_REQUEST', 'an observer observes once');
    for (const scope of scopes) nameOf(scope);
  }

  /** The shared scope of this name, or a new one. */
  #scope(range: LiveScope, added: Scope[]): Scope {
    const name = nameOf(range);
    const known = this.#scopes.get(name);
    if (known !== undefined) return known;
    const scope = new Scope(name, range);
    this.#scopes.set(name, scope);
    added.push(scope);
    return scope;
  }

  #begin(): Position {
    return new Position(this.#core, {
      scopes: () => this.#observers.scopes,
      applied: (answer) => {
        if (this.#scopes.size > 0) this.#feed.goOn(answer);
      },
      complete: () => this.#feed.ensure(),
      failed: (scope, error) => this.#fail([scope], error),
    });
  }

  /** Ends all observers of some scopes. */
  #fail(scopes: readonly Scope[], error: IsochronError): void {
    for (const observer of new Set(scopes.flatMap((scope) => this.#observers.of(scope)))) {
      this.unwatch(observer);
      observer.failed(error);
    }
  }
}
