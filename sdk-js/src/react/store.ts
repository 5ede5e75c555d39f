/**
 * The newest result of a watch, for all components that show it. Equal watches share a store, and so one reader: a
 * component that is mounted twice, as in strict mode, or on another page, reads nothing anew.
 */
import type { Watched } from '../api/watched.js';
import type { Watch } from '../index.js';

/** How long a store without components goes on, in ms: a component may show the result again soon. */
const LINGER_MS = 2_000;
/** How long a reported error is kept, in ms: a render that React repeats at once gets the same error. */
const ERROR_LINGER_MS = 0;

/** The state of a watch: the same object until it changes. */
export interface StoreState<R> {
  /** The newest result; undefined before the first one. */
  readonly result?: R | undefined;
  /** The error with which the watch has ended. */
  readonly error?: unknown;
}

const NOTHING: StoreState<never> = {};

/** Stores of equal queries by their text. */
type Stores = Map<string, LiveStore<unknown>>;

const clients = new WeakMap<object, Stores>();

/** The store of a watch: watches with equal queries share a store. */
export function storeOf<R>(watch: Watch<R>): LiveStore<R> {
  const stores: Stores = clients.get(watch.driver) ?? new Map();
  clients.set(watch.driver, stores);
  const known = stores.get(watch.name) as LiveStore<R> | undefined;
  return known ?? new LiveStore(watch.withoutSignal(), stores);
}

/**
 * Text that queries of the same documents share: the same document, or named keys or a range of one collection and
 * prefix. The keys, and how a range is filtered, sorted and bounded, make no difference.
 */
function subjectOf({ name, plan }: Pick<Watched, 'name' | 'plan'>): string {
  switch (plan.kind) {
    case 'document':
      return name;
    case 'keys':
      return JSON.stringify([plan.kind, plan.scope]);
    case 'range':
      return JSON.stringify([plan.kind, plan.scope, plan.range.prefix ?? '']);
    case 'cut':
      return JSON.stringify(Object.entries(plan.watches).map(([as, watch]) => [as, subjectOf(watch)]));
  }
}

export class LiveStore<R> {
  readonly #watch: Watch<R>;
  readonly #stores: Stores;
  readonly #listeners = new Set<() => void>();
  #state: StoreState<R> = NOTHING;
  /** Whether a component has received the error of the state. */
  #isReported = false;
  #end: (() => void) | undefined;
  #lingering: ReturnType<typeof setTimeout> | undefined;
  /** Resolves when a result or an error is there. */
  #arrival: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(watch: Watch<R>, stores: Stores) {
    this.#watch = watch;
    this.#stores = stores;
    this.#keep();
  }

  /** Whether both show the same documents, each by its own query. */
  isLike(other: LiveStore<R>): boolean {
    const { driver } = this.#watch;
    return driver === other.#watch.driver && subjectOf(this.#watch) === subjectOf(other.#watch);
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
    if (error !== undefined) {
      this.#isReported = true;
      this.#keep();
      throw error;
    }
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
    this.#isReported = state.error !== undefined && this.#listeners.size > 0;
    this.#arrival?.resolve();
    this.#arrival = undefined;
    this.#keep();
    for (const changed of this.#listeners) changed();
  }

  /**
   * The store goes on for a while without components, and for as long as a component waits for its first result. After
   * a reported error it ends at once: a component that is mounted then, as by a retry, reads anew.
   */
  #keep(): void {
    this.#stores.set(this.#watch.name, this as LiveStore<unknown>);
    clearTimeout(this.#lingering);
    if (this.#listeners.size > 0 || this.#arrival !== undefined) return;
    this.#lingering = setTimeout(() => this.#close(), this.#isReported ? ERROR_LINGER_MS : LINGER_MS);
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
