import { availableParallelism } from 'node:os';

/** Runs the work on every item, at most one per processor at a time. Returns a promise for each, in their order. */
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
