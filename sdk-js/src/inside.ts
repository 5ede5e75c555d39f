/** Finds the function in which the program runs at the moment. */
export interface Inside<T> {
  run<R>(whose: T, run: () => R): R;
  getStore(): T | undefined;
}

const { process } = globalThis as {
  process?: {
    readonly version?: string;
    getBuiltinModule(name: 'node:async_hooks'): { AsyncLocalStorage: new <T>() => Inside<T> };
  };
};

/** Works until the function first waits. */
class UntilItWaits<T> implements Inside<T> {
  #running: T | undefined;

  run<R>(whose: T, run: () => R): R {
    const before = this.#running;
    this.#running = whose;
    try {
      return run();
    } finally {
      this.#running = before;
    }
  }

  getStore(): T | undefined {
    return this.#running;
  }
}

/**
 * Follows functions for as long as they run if that is free: before Node 24 it takes a hook in every promise, and a
 * third of a busy client's throughput.
 */
export const createInside = <T>(): Inside<T> =>
  process?.version && process.version >= 'v24'
    ? new (process.getBuiltinModule('node:async_hooks').AsyncLocalStorage)()
    : new UntilItWaits();
