/** Where the runtime follows what a function does while it waits: in Node, Bun and Deno. */
interface Following<T> {
  run<R>(store: T, run: () => R): R;
  getStore(): T | undefined;
}

const { process } = globalThis as {
  process?: {
    getBuiltinModule?(name: 'node:async_hooks'): { AsyncLocalStorage: new <T>() => Following<T> } | undefined;
  };
};

/** The transaction whose function runs. In browsers that is known until the function first waits. */
export class InsideTransactions<T> {
  readonly #following: Following<T> | undefined;
  #running: T | undefined;

  constructor() {
    const hooks = process?.getBuiltinModule?.('node:async_hooks');
    this.#following = hooks && new hooks.AsyncLocalStorage();
  }

  get current(): T | undefined {
    return this.#following ? this.#following.getStore() : this.#running;
  }

  run<R>(transaction: T, run: () => R): R {
    if (this.#following) return this.#following.run(transaction, run);
    const before = this.#running;
    this.#running = transaction;
    try {
      return run();
    } finally {
      this.#running = before;
    }
  }
}
