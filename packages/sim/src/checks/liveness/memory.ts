import type { NodeId } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';

/** A node's memory is bounded by the requests that clients can have in flight, under all faults. */
export class MemoryIsBounded implements Check {
  readonly name = 'memory-is-bounded';

  constructor(
    readonly context: CheckContext,
    readonly loads: () => Iterable<readonly [NodeId, Readonly<Record<string, number>>]>,
    /** Most items of one kind on one node. */
    readonly limit: number,
    /** Own writes that sessions still keep once everything is stable. */
    readonly caches: () => Iterable<readonly [session: string, count: number]>,
  ) {}

  round(): void {
    for (const [node, load] of this.loads()) {
      for (const [name, count] of Object.entries(load)) {
        if (count <= this.limit) continue;
        this.context.fail(this.name, `${node} holds ${count} ${name}, more than ${this.limit}`, [node]);
      }
    }
  }

  /** A session that has learned that its writes are stable needs them no more (P7). */
  converged(): void {
    for (const [session, count] of this.caches()) {
      if (count > 0) this.context.fail(this.name, `the cache of ${session} keeps ${count} stable writes`, [session]);
    }
  }
}
