/** Arrays as sets: two items are one if they are equal as documents. */
import { isObject } from './documents.js';

/** A set of JSON values: numbers by their value, objects whatever the order of their members. */
export class ItemSet {
  readonly #plain = new Set<unknown>();
  readonly #compound = new Set<string>();

  constructor(items: readonly unknown[]) {
    for (const item of items) this.add(item);
  }

  get isEmpty(): boolean {
    return this.#plain.size + this.#compound.size === 0;
  }

  /** Adds an item. Returns false if it is in the set already. */
  add(item: unknown): boolean {
    if (this.has(item)) return false;
    if (isCompound(item)) this.#compound.add(canonical(item));
    else this.#plain.add(item);
    return true;
  }

  has(item: unknown): boolean {
    // The text of a large item is written only if it can matter.
    if (isCompound(item)) return this.#compound.size > 0 && this.#compound.has(canonical(item));
    return this.#plain.has(item);
  }

  delete(item: unknown): void {
    if (!isCompound(item)) this.#plain.delete(item);
    else if (this.#compound.size > 0) this.#compound.delete(canonical(item));
  }
}

const isCompound = (item: unknown): boolean => typeof item === 'object' && item !== null;

/** A text that equal values share. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}

/** The items of which an array has no equal, each once, in their order. */
export function missingFrom(array: readonly unknown[], items: readonly unknown[]): unknown[] {
  const wanted = new ItemSet(items);
  for (const present of array) {
    if (wanted.isEmpty) break;
    wanted.delete(present);
  }
  return items.filter((item) => {
    const isMissing = wanted.has(item);
    wanted.delete(item);
    return isMissing;
  });
}
