import type { NodeId } from '@isochron/core';
import type { Moment } from '../faults/fault.js';

interface Watch {
  readonly moment: Moment;
  left: number;
  readonly run: () => void;
}

/** Counts moments in the life of messages, and calls the waiting functions back. */
export class Moments {
  readonly #watches = new Set<Watch>();

  /** Whether any function waits: nearly never. */
  get any(): boolean {
    return this.#watches.size > 0;
  }

  on(moment: Moment, nth: number, run: () => void): () => void {
    const watch = { moment, left: nth, run };
    this.#watches.add(watch);
    return () => this.#watches.delete(watch);
  }

  came(node: NodeId, type: string, point: Moment['point']): void {
    for (const watch of [...this.#watches]) {
      const { moment } = watch;
      if (moment.node !== node || moment.type !== type || moment.point !== point || --watch.left > 0) continue;
      this.#watches.delete(watch);
      watch.run();
    }
  }
}
