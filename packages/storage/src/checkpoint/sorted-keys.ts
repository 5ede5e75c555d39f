import { compareKeys, type QualifiedKey } from '@isochron/core';

/** Keys in order, each once. */
export type Run = readonly QualifiedKey[];

/**
 * Keys that are put in order when they are asked for: until then, adding a key costs next to nothing. Each answer is a
 * few ordered runs of growing length, as in a log-structured merge tree: so the next answer costs little, too.
 */
export class SortedKeys {
  #added: QualifiedKey[] = [];
  #runs: readonly Run[] = [];

  /** Adds a key that is not there yet. */
  add(key: QualifiedKey): void {
    this.#added.push(key);
  }

  /** All keys so far. Keys that are added later do not change the answer. */
  get runs(): readonly Run[] {
    if (this.#added.length === 0) return this.#runs;
    let newest: Run = this.#added.sort(compareKeys);
    this.#added = [];
    const runs = [...this.#runs];
    while (runs.length > 0 && runs.at(-1)!.length <= 2 * newest.length) newest = merged(runs.pop()!, newest);
    this.#runs = [...runs, newest];
    return this.#runs;
  }
}

function merged(a: Run, b: Run): Run {
  const keys: QualifiedKey[] = [];
  let i = 0;
  for (const key of b) {
    while (i < a.length && compareKeys(a[i]!, key) < 0) keys.push(a[i++]!);
    keys.push(key);
  }
  while (i < a.length) keys.push(a[i++]!);
  return keys;
}

/** The keys of a run from a key on, below another key; null: without an end. */
export function* keysBetween(run: Run, start: QualifiedKey, end: QualifiedKey | null): Generator<QualifiedKey> {
  let [low, high] = [0, run.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(run[middle]!, start) < 0) low = middle + 1;
    else high = middle;
  }
  for (; low < run.length && (end === null || compareKeys(run[low]!, end) < 0); low++) yield run[low]!;
}
