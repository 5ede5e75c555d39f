/**
 * The newest result of a watch, for all components that show it. Equal watches share a store, and so one reader: a
 * component that is mounted twice, as in strict mode, or on another page, reads nothing anew.
 */
import type { Watch } from '../index.js';

/** How long a store without components goes on, in ms: it may be shown again soon. */
const LINGER_MS = 2_000;

/** The state of a watch: the same object until it changes. */
export interface StoreState<R> {
  /** The newest result; undefined before the first one. */
  readonly result?: R | undefined;
  /** The error with which the watch has ended. */
  readonly error?: unknown;
}

const NOTHING: StoreState<never> = {};

const clients = new WeakMap<object, Map<string, LiveStore<unknown>>>();

/** The store of a watch. */
export function storeOf<R>(watch: Watch<R>): LiveStore<R> {
  const stores = clients.get(watch.driver) ?? new Map<string, LiveStore<unknown>>();
  clients.set(watch.driver, stores);
  const known = stores.get(watch.name) as LiveStore<R> | undefined;
  return known ?? new LiveStore(watch, stores);
}

export class LiveStore<R> {
  readonly #watch: Watch<R>;
  readonly #stores: Map<string, LiveStore<unknown>>;
  readonly #listeners = new Set<() => void>();
  #state: StoreState<R> = NOTHING;
  #end: (() => void) | undefined;
  #lingering: ReturnType<typeof setTimeout> | undefined;
  /** Resolves when a result or an error is there. */
  #arrival: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(watch: Watch<R>, stores: Map<string, LiveStore<unknown>>) {
    this.#watch = watch;
    this.#stores = stores;
    this.#keep();
  }

  /** The present state. */
  readonly state = (): StoreState<R> => this.#state;

  /** Calls a function after every change. Returns a function that ends this. */
  readonly subscribe = (changed: () => void): (() => void) => {
    this.#listeners.add(changed);
    this.#open();
    return () => {
      this.#listeners.delete(changed);
      this.#keep();
    };
  };

  /** The result. Throws the error of the watch, or a promise of the first result, for which React waits. */
  read(): R {
    const { result, error } = this.#state;
    if (error !== undefined) throw error;
    if (result !== undefined) return result;
    this.#arrival ??= deferred();
    this.#open();
    throw this.#arrival.promise;
  }

  #open(): void {
    this.#keep();
    if (this.#state.error !== undefined) return;
    this.#end ??= this.#watch.subscribe(
      (result) => this.#set({ result }),
      (error) => {
        this.#end = undefined;
        // The application has closed the client: what it shows stays.
        if (error.code !== 'CLIENT_CLOSED' || this.#state.result === undefined) this.#set({ error });
      },
    );
  }

  #set(state: StoreState<R>): void {
    this.#state = state;
    this.#arrival?.resolve();
    this.#arrival = undefined;
    this.#keep();
    for (const changed of this.#listeners) changed();
  }

  /** It goes on for a while without components, and for as long as one waits for its first result. */
  #keep(): void {
    this.#stores.set(this.#watch.name, this as LiveStore<unknown>);
    clearTimeout(this.#lingering);
    if (this.#listeners.size > 0 || this.#arrival !== undefined) return;
    this.#lingering = setTimeout(() => this.#close(), LINGER_MS);
    // In Node it keeps no process alive.
    (this.#lingering as { unref?(): void }).unref?.();
  }

  #close(): void {
    if (this.#stores.get(this.#watch.name) === this) this.#stores.delete(this.#watch.name);
    this.#end?.();
    this.#end = undefined;
  }
}

function deferred() {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
