import type { AnyMessage } from '@isochron/core';
import type { Input, Machine } from '@isochron/protocols';

/** The machine that hands a coordinator's answers to the client connections of its node. */
export class ClientPort<M extends AnyMessage> implements Machine<M> {
  /** Takes every answer. */
  onAnswer: (message: M) => void = () => {};

  step(input: Input<M>): void {
    if (input.kind === 'message') this.onAnswer(input.message);
  }

  invariants(): void {}

  describe(): object {
    return {};
  }
}
