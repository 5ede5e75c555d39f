import type { AnyMessage, NodeId } from '@isochron/core';
import type { Envelope } from '@isochron/protocols';

/**
 * Gathers what a node sends in one turn of the event loop, so that the messages of many requests share a frame: a socket write costs
 * more than everything else that a remote read does here.
 */
export class Outbox<M extends AnyMessage> {
  readonly #waiting = new Map<NodeId, Envelope<M>[]>();
  #scheduled = false;
  readonly #flush = (): void => {
    this.#scheduled = false;
    for (const [node, envelopes] of this.#waiting) this.send(node, envelopes);
    this.#waiting.clear();
  };

  constructor(readonly send: (node: NodeId, envelopes: readonly Envelope<M>[]) => void) {}

  add(node: NodeId, envelopes: readonly Envelope<M>[]): void {
    const waiting = this.#waiting.get(node);
    if (waiting === undefined) this.#waiting.set(node, [...envelopes]);
    else waiting.push(...envelopes);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#flush);
  }
}
