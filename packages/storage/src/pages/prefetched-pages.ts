/** How long a page is kept without being used. */
const UNUSED_MS = 1000;

/** A page that was read from disk for a message that is about to be delivered. */
export interface Holdable {
  readonly ready: boolean;
  used: boolean;
}

/**
 * Pages read from disk. A page lives until the turn of the event loop in which it was used ends, so that everything
 * delivered in that turn finds it.
 */
export class PrefetchedPages<P extends Holdable> {
  readonly #pages = new Map<string, { page: P; loaded: Promise<void> }>();
  #dropping = false;

  /** The page of a name, once it is read. */
  get(name: string): P | undefined {
    const held = this.#pages.get(name)?.page;
    return held?.ready ? held : undefined;
  }

  /** Reads a page, or waits for a read of it that is under way. */
  async load(name: string, page: P, read: (page: P) => Promise<void>): Promise<void> {
    const present = this.#pages.get(name);
    if (present !== undefined) {
      present.page.used = false;
      return present.loaded;
    }
    const loaded = read(page);
    this.#pages.set(name, { page, loaded });
    try {
      await loaded;
    } catch (error) {
      this.#pages.delete(name);
      throw error;
    }
    setTimeout(() => this.#remove(name, page), UNUSED_MS).unref();
  }

  /** Calls `each` for every page, also those still being read; cheap when there are no pages. */
  forEachPage(each: (page: P) => void): void {
    if (this.#pages.size > 0) for (const { page } of this.#pages.values()) each(page);
  }

  /** Drops used pages at the end of this turn. */
  dropUsedSoon(): void {
    if (this.#dropping) return;
    this.#dropping = true;
    setImmediate(() => {
      this.#dropping = false;
      for (const [name, { page }] of this.#pages) if (page.used) this.#pages.delete(name);
    });
  }

  #remove(name: string, page: P): void {
    if (this.#pages.get(name)?.page === page) this.#pages.delete(name);
  }
}
