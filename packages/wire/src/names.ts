/** Shared names at most: a node has few machines, and a peer must not fill the memory with others. */
const MAX_INTERNED = 4096;

/** Gives one string object for equal names, so that every message of a long-lived link does not hold its own copy. */
export class NameTable {
  readonly #names = new Map<string, string>();

  intern(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    if (this.#names.size < MAX_INTERNED) this.#names.set(name, name);
    return name;
  }
}
