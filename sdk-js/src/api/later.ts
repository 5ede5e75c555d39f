/** Iterates over results whose code is loaded with the first of them. */
export function iterateLater<T>(load: () => Promise<AsyncIterator<T>>): AsyncIterableIterator<T> {
  let loaded: Promise<AsyncIterator<T>> | undefined;
  const iterator: AsyncIterableIterator<T> = {
    [Symbol.asyncIterator]: () => iterator,
    next: async () => {
      loaded ??= load();
      return (await loaded).next();
    },
    return: async () => {
      const done = { done: true, value: undefined } as const;
      loaded ??= Promise.resolve({ next: async () => done });
      return (await (await loaded).return?.()) ?? done;
    },
  };
  return iterator;
}
