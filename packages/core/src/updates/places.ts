/** Places in a document, and edits there with the bytes that they add. */
import { type JsonObject, memberOf, setMember, sizeOf } from './documents.js';
import type { ItemSet } from './items.js';

type Container = JsonObject | unknown[];

/** A change that is not made yet. */
export interface Edit {
  /** Bytes of JSON text that it adds to the document; negative if it removes more. Only before it is made. */
  growth(): number;
  make(): void;
}

/** The names of a JSON Pointer. */
export const namesOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => (name.includes('~') ? name.replaceAll('~1', '/').replaceAll('~0', '~') : name));

/** The member or item of a container where a path ends, or where its first missing name belongs. */
export class Place {
  readonly #container: Container;
  readonly #name: string;
  /** The names below it that are missing. */
  readonly #missing: readonly string[];

  private constructor(container: Container, name: string, missing: readonly string[]) {
    this.#container = container;
    this.#name = name;
    this.#missing = missing;
  }

  /** The place of a path, whose first name is a member of `root`. Undefined for an item that an array does not have. */
  static find(root: JsonObject, path: readonly string[]): Place | undefined {
    let container: Container = root;
    for (const [i, name] of path.entries()) {
      if (Array.isArray(container) && !isIndex(container, name)) return undefined;
      const inner = get(container, name);
      if (i === path.length - 1 || !isContainer(inner)) return new Place(container, name, path.slice(i + 1));
      container = inner;
    }
    return undefined;
  }

  /** The value at the end of the path; undefined when absent. */
  get value(): unknown {
    return this.#missing.length > 0 ? undefined : get(this.#container, this.#name);
  }

  /** Stores a value, in new objects for the missing names. They replace a value that is no container. */
  put(value: unknown): Edit {
    const [container, name] = [this.#container, this.#name];
    const outer = this.#missing.reduceRight((inner: unknown, missing) => ({ [missing]: inner }), value);
    return {
      growth: () => {
        const before = get(container, name);
        return before === undefined ? entrySize(container, name, outer) : sizeOf(outer) - sizeOf(before);
      },
      make: () => set(container, name, outer),
    };
  }

  /** Removes the value, which has to exist. */
  remove(): Edit {
    const [container, name] = [this.#container, this.#name];
    return {
      growth: () => -entrySize(container, name, this.value, 1),
      make: () => (Array.isArray(container) ? container.splice(Number(name), 1) : delete container[name]),
    };
  }
}

/** Adds items at the end of an array. */
export const appendItems = (array: unknown[], items: readonly unknown[]): Edit => ({
  growth: () => itemsSize(items, array.length),
  make: () => {
    for (const item of items) array.push(item);
  },
});

/** Removes the items that are in a set. */
export function removeItems(array: unknown[], removed: ItemSet): Edit {
  const gone = array.filter((item) => removed.has(item));
  return {
    growth: () => -itemsSize(gone, array.length - gone.length),
    make: () => {
      let kept = 0;
      for (const item of array) if (!removed.has(item)) array[kept++] = item;
      array.length = kept;
    },
  };
}

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

const isIndex = (array: readonly unknown[], name: string): boolean =>
  /^(?:0|[1-9]\d*)$/.test(name) && Number(name) < array.length;

const get = (container: Container, name: string): unknown =>
  Array.isArray(container) ? container[Number(name)] : memberOf(container, name);

function set(container: Container, name: string, value: unknown): void {
  if (Array.isArray(container)) container[Number(name)] = value;
  else setMember(container, name, value);
}

/** Bytes of a member or an item, with a comma if it is not alone. `entries` of the container are the entry itself. */
function entrySize(container: Container, name: string, value: unknown, entries = 0): number {
  const isArray = Array.isArray(container);
  const others = (isArray ? container.length : Object.keys(container).length) - entries;
  return sizeOf(value) + (isArray ? 0 : sizeOf(name) + 1) + (others > 0 ? 1 : 0);
}

/** Bytes of items beside `others`, with their commas. */
const itemsSize = (items: readonly unknown[], others: number): number =>
  items.length === 0 ? 0 : sizeOf(items) - 2 + (others > 0 ? 1 : 0);
