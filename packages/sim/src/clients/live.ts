/** The live queries of one line of sessions, and the own writes that lie over what they show. */
import { OutcomeUnknownError } from '@isochron/client';
import type { LiveObserver, LiveScope, ScopeView } from '@isochron/client/live/observer';
import type { KeyWrite, Timestamp, TxId } from '@isochron/core';
import { storedTxId } from '@isochron/sessions';
import type { LiveObservations, LiveOwn, LiveWatch } from '../checks/evidence/observations.js';
import { type Holder, holderIn } from './credentials.js';

/** A client that live queries can be begun and ended with. */
export interface LiveClient {
  watchLive(observer: LiveObserver, scopes: readonly LiveScope[]): void;
  unwatchLive(observer: LiveObserver): void;
}

/** The parts of the world that live queries use. */
export interface LiveWorld extends Holder {
  readonly observer: LiveObservations;
  note(what: () => string): void;
}

interface Own extends LiveOwn {
  /** Whether the client knows that it is committed. */
  isCommitted: boolean;
}

export class LiveQueries {
  readonly #own: Own[] = [];
  readonly #watches = new Set<SimulatedWatch>();
  #client: LiveClient | undefined;
  #names = 0;
  #hasChanged = false;
  /** The highest snapshot that an observer was shown. */
  shown: Timestamp = 0;

  constructor(readonly world: LiveWorld) {}

  /**
   * The client of the session is about to be closed. The next one continues with what it knows: it does not have the
   * writes whose outcome is open, and shows them once a snapshot has them.
   */
  closing(): void {
    for (const own of this.#own) own.isOut ||= !own.isCommitted;
    for (const watch of this.#watches) {
      watch.ends();
      this.world.observer.liveAnew(watch);
    }
  }

  /** A client of the session can watch now. */
  connected(client: LiveClient): void {
    this.#client = client;
    for (const watch of this.#watches) watch.beginsAt(client);
  }

  /** Observes scopes from now on. Returns the function that ends it. */
  watch(scopes: readonly LiveScope[]): () => void {
    const { session, observer, note } = this.world;
    const watch = new SimulatedWatch(session, `live${this.#names++}`, scopes, this.#own, {
      next: (snapshot, views) => {
        this.shown = Math.max(this.shown, snapshot);
        note(() => `${watch.name} shows ${textOf(views)} at ${snapshot}`);
        observer.liveShown(watch, snapshot, views);
      },
      failed: ({ code }) => {
        note(() => `${watch.name} ends with ${code}`);
        this.#watches.delete(watch);
        observer.liveEnded(watch, code);
      },
    });
    this.#watches.add(watch);
    note(() => `${watch.name} observes ${JSON.stringify(scopes)}`);
    observer.liveAnew(watch);
    watch.beginsAt(this.#client!);
    return () => {
      if (!this.#watches.delete(watch)) return;
      note(() => `${watch.name} ends`);
      watch.ends();
      observer.liveEnded(watch);
    };
  }

  /** The client is given a transaction. */
  called(txId: TxId, writes: readonly KeyWrite[]): void {
    this.#own.push({ txId: this.#stored(txId), writes, isOut: false, isCommitted: false });
    this.#hasChanged = true;
  }

  committed(txId: TxId): void {
    for (const own of this.#of(txId)) own.isCommitted = true;
  }

  /** The client's answer to the caller: it still waits for a write whose outcome is unknown. */
  rejected(txId: TxId, reason: unknown): void {
    if (reason instanceof OutcomeUnknownError)
      reason.settle = ({ state }) => {
        if (state === 'committed') this.committed(txId);
        else this.#isOut(txId);
      };
    else this.#isOut(txId);
  }

  /** The end of a step of the client. */
  turned(): void {
    if (!this.#hasChanged) return;
    this.#hasChanged = false;
    for (const watch of this.#watches) if (watch.isShown) this.world.observer.liveTurned(watch);
  }

  /** The process of the client ends. */
  die(): void {
    for (const watch of this.#watches) this.world.observer.liveEnded(watch);
    this.#watches.clear();
  }

  #stored(txId: TxId): TxId {
    return storedTxId(txId, holderIn(this.world));
  }

  #isOut(txId: TxId): void {
    for (const own of this.#of(txId)) own.isOut = true;
  }

  #of(txId: TxId): readonly Own[] {
    this.#hasChanged = true;
    const stored = this.#stored(txId);
    return this.#own.filter((own) => own.txId === stored);
  }
}

/** A live query, whose observer each client of the session gets. */
class SimulatedWatch implements LiveWatch {
  isShown = false;
  #end: (() => void) | undefined;

  constructor(
    readonly session: string,
    readonly name: string,
    readonly scopes: readonly LiveScope[],
    readonly own: readonly LiveOwn[],
    readonly to: LiveObserver,
  ) {}

  beginsAt(client: LiveClient): void {
    let isCurrent = true;
    const observer: LiveObserver = {
      next: (snapshot, views) => {
        this.isShown = true;
        this.to.next(snapshot, views);
      },
      failed: (error) => {
        if (isCurrent) this.to.failed(error);
      },
    };
    this.#end = () => {
      isCurrent = false;
      client.unwatchLive(observer);
    };
    client.watchLive(observer, this.scopes);
  }

  /** Its observer is called no more. */
  ends(): void {
    this.isShown = false;
    this.#end?.();
    this.#end = undefined;
  }
}

const textOf = (views: readonly ScopeView[]): string =>
  views
    .map(({ documents }) =>
      [...documents.values()].map(({ key, value, pending }) => `${key}=${value}${pending ? '*' : ''}`),
    )
    .map((documents) => `[${documents.join(' ')}]`)
    .join(' ');
