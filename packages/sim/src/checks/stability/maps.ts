import type { DurableFact, NodeId } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';

const MAP = /^map\/\d+$/;

/** One map a version (M1): every node that stores a map stores the same one under its version, whatever it has lost. */
export class OneMapAVersion implements Check {
  readonly name = 'one-map-a-version';
  readonly #first = new Map<string, { readonly node: NodeId; readonly map: string }>();

  constructor(readonly context: CheckContext) {}

  wrote(node: NodeId, fact: DurableFact): void {
    if (fact.kind !== 'meta' || !MAP.test(fact.name)) return;
    const map = String(fact.value);
    const first = this.#first.get(fact.name);
    if (first === undefined) this.#first.set(fact.name, { node, map });
    else if (first.map !== map) {
      const message = `${node} stores ${map} as ${fact.name}, and ${first.node} ${first.map}`;
      this.context.fail(this.name, message, [node, first.node]);
    }
  }
}
