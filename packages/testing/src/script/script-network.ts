/**
 * The links of a script: messages that are held back or lost, chosen by their type and their way. Messages inside a
 * node are not seen here.
 */
import type { AnyMessage, NodeId, PartitionId, Timestamp } from '@isochron/core';
import type { NodeClock } from '@isochron/protocols/kernel/node-clock';
import type { Address, Envelope } from '@isochron/protocols/machine';

/** The links of a world, whatever its messages. */
export interface NetworkWorld<M extends AnyMessage> {
  filter: (envelope: Envelope<M>) => boolean;
  readonly sent: Envelope<M>[];
  node(id: NodeId): { readonly up: boolean; readonly parts: { readonly clock: NodeClock } };
  inject(to: Address, from: Address, message: M): void;
}

/** A selection of messages; an omitted part stands for any. */
export interface Pattern {
  readonly types: readonly string[];
  readonly from: NodeId | undefined;
  readonly to: NodeId | undefined;
  readonly partition: PartitionId | undefined;
}

export function matches(
  { types, from, to, partition }: Pattern,
  { from: sender, to: target, message }: Envelope<AnyMessage>,
): boolean {
  return (
    (types.length === 0 || types.includes(message.type)) &&
    (from === undefined || from === sender.node) &&
    (to === undefined || to === target.node) &&
    (partition === undefined || ('partition' in message && message.partition === partition))
  );
}

export class ScriptNetwork<M extends AnyMessage> {
  readonly #held: { envelope: Envelope<M>; hlc: Timestamp }[] = [];
  #rules: { readonly action: 'hold' | 'drop'; readonly pattern: Pattern }[] = [];

  constructor(readonly world: NetworkWorld<M>) {
    world.filter = (envelope) => this.#passes(envelope);
  }

  get held(): number {
    return this.#held.length;
  }

  hold(pattern: Pattern): void {
    this.#rules.push({ action: 'hold', pattern });
  }

  drop(pattern: Pattern): void {
    this.#rules.push({ action: 'drop', pattern });
  }

  /** From now on everything passes; held messages stay held. */
  pass(): void {
    this.#rules = [];
  }

  /**
   * Delivers the first held messages that match, late, and returns them. A link that dropped meanwhile does not matter
   * (D6).
   */
  release(pattern: Pattern, count: number): Envelope<M>[] {
    const released: Envelope<M>[] = [];
    for (const entry of [...this.#held]) {
      if (released.length === count || !matches(pattern, entry.envelope)) continue;
      this.#held.splice(this.#held.indexOf(entry), 1);
      released.push(entry.envelope);
      this.#deliver(entry.envelope, entry.hlc);
    }
    return released;
  }

  #deliver(envelope: Envelope<M>, hlc: Timestamp): void {
    const target = this.world.node(envelope.to.node);
    if (!target.up) return;
    this.world.sent.push(envelope);
    target.parts.clock.observe(hlc);
    this.world.inject(envelope.to, envelope.from, envelope.message);
  }

  #passes(envelope: Envelope<M>): boolean {
    const rule = this.#rules.find(({ pattern }) => matches(pattern, envelope));
    if (rule?.action === 'hold') {
      this.#held.push({ envelope, hlc: this.world.node(envelope.from.node).parts.clock.last });
    }
    return rule === undefined;
  }
}
