import type { AnyMessage, NodeId } from '@isochron/core';
import type { Moment } from '../faults/fault.js';

interface AwaitedMoment {
  readonly moment: Moment;
  left: number;
  readonly run: (message: AnyMessage, from: NodeId) => void;
}

/** Counts moments in the life of messages, and calls the waiting functions back. */
export class Moments {
  readonly #watches = new Set<AwaitedMoment>();

  /** Whether any function waits: nearly never. */
  get any(): boolean {
    return this.#watches.size > 0;
  }

  on(moment: Moment, nth: number, run: AwaitedMoment['run']): () => void {
    const watch = { moment, left: nth, run };
    this.#watches.add(watch);
    return () => this.#watches.delete(watch);
  }

  came(node: NodeId, message: AnyMessage, from: NodeId, point: Moment['point']): void {
    for (const watch of [...this.#watches]) {
      const { moment } = watch;
      if (moment.node !== node || moment.type !== message.type || moment.point !== point || --watch.left > 0) continue;
      this.#watches.delete(watch);
      watch.run(message, from);
    }
  }
}
