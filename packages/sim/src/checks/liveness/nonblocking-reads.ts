import type { NodeId, PartitionId, Version } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';

/**
 * A replica whose process and disk were never lost has everything that a client may have seen: once it has answered a
 * read, no later one waits there. Before its first answer it may have to wait for its peers' reports about its disk
 * (D10), and versions that were seen before a loss may have to come again.
 */
export class NonblockingReads implements Check {
  readonly name = 'reads-wait-for-lost-data-only';
  readonly #asked = new WeakMap<object, number>();
  readonly #answeredSince = new Map<string, number>();
  readonly #crashed = new Set<NodeId>();
  #lostData = false;

  constructor(readonly context: CheckContext) {}

  asked(request: object): void {
    this.#asked.set(request, this.context.time.now);
  }

  revealed(node: NodeId, partition: PartitionId, _versions: readonly Version[]): void {
    const replica = `${node}/${partition}`;
    if (!this.#answeredSince.has(replica)) this.#answeredSince.set(replica, this.context.time.now);
  }

  crashed(node: NodeId): void {
    this.#crashed.add(node);
  }

  onDataLoss(): void {
    this.#lostData = true;
  }

  waited(node: NodeId, partition: PartitionId, request: object): void {
    if (this.#lostData || this.#crashed.has(node)) return;
    const since = this.#answeredSince.get(`${node}/${partition}`);
    const asked = this.#asked.get(request);
    if (since === undefined || asked === undefined || asked <= since) return;
    this.context.fail(this.name, `a read of partition ${partition} waited on ${node}, which has lost nothing`, [node]);
  }
}
