import { availableParallelism } from 'node:os';

/** Starts the work on every item, never more of it at a time than there are processors. A promise for each, in their order. */
export function inLanes<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  lanes = availableParallelism(),
): Promise<R>[] {
  const running: Promise<unknown>[] = [];
  return items.map((item, i) => {
    const before = running[i - lanes];
    const result = before === undefined ? work(item) : before.then(() => work(item));
    running.push(result.catch(() => undefined));
    return result;
  });
}
