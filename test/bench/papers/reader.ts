/** Sessions of a region that look for updates until one of them sees them. */
import type { IsochronClient } from '@isochron/sdk';
import type { VisibilitySample } from './samples.js';

/** An update under way. */
export interface Update {
  readonly source: string;
  /** When its write was answered. */
  committedAt: number | undefined;
}

/** The reader of a region, and the updates that it has not seen. */
export class Reader {
  readonly #unseen = new Map<string, Update>();
  readonly #idle: Pick<IsochronClient, 'getMany'>[];

  constructor(
    readonly region: string,
    /** Each has one read at a time: some protocols allow one operation of a session at a time, and some reads block. */
    clients: readonly Pick<IsochronClient, 'getMany'>[],
    readonly samples: VisibilitySample[],
    /** In ms. */
    readonly now: () => number,
  ) {
    this.#idle = [...clients];
  }

  get unseen(): number {
    return this.#unseen.size;
  }

  expect(key: string, update: Update): void {
    this.#unseen.set(key, update);
  }

  /**
   * Reads all updates that it has not seen, unless every session waits for an answer; does not wait for earlier reads.
   */
  async look(): Promise<void> {
    const keys = [...this.#unseen.keys()];
    const client = keys.length === 0 ? undefined : this.#idle.shift();
    if (client === undefined) return;
    try {
      const values = await client.getMany(keys);
      for (const [i, value] of values.entries()) if (value !== undefined) this.#saw(keys[i]!);
    } finally {
      this.#idle.push(client);
    }
  }

  #saw(key: string): void {
    const update = this.#unseen.get(key);
    // A later read was answered first.
    if (update === undefined) return;
    this.#unseen.delete(key);
    const now = this.now();
    // It may be visible before the write is answered.
    this.samples.push({ source: update.source, reader: this.region, ms: now - (update.committedAt ?? now) });
  }
}
