/**
 * Wraps a machine and reports each step with its kind and number of items. The cost model and its measurement see the
 * same steps.
 */
import type { DurableRecord, ReadNeeds } from '@isochron/core';
import type { Effects, Input, Machine, TransactionMessage, WriteSeq } from '@isochron/protocols';
import { itemsOf } from './cost-model.js';

type M = TransactionMessage;

/** Receives the steps. */
export interface StepListener {
  /** Before a step. */
  stepping(): void;
  /**
   * After the step and its invariants. `kind` as in `CostModel.steps`; items of a message, or else records that were
   * written.
   */
  stepped(kind: string, items: number): void;
}

export class StepTap implements Machine<M>, Effects<M> {
  readonly #machine: Machine<M>;
  readonly #listener: StepListener;
  readonly #role: string;
  readonly needs?: (message: M) => ReadNeeds | undefined;
  #out: Effects<M> | undefined;
  #input: Input<M> | undefined;
  #written = 0;
  readonly #kinds = new Map<string, string>();

  /** @param name of the machine, as its host knows it */
  constructor(name: string, machine: Machine<M>, listener: StepListener) {
    this.#machine = machine;
    this.#listener = listener;
    this.#role = name.split('/')[0]!;
    if (machine.needs !== undefined) this.needs = (message) => machine.needs!(message);
  }

  step(input: Input<M>, out: Effects<M>): void {
    this.#out = out;
    this.#input = input;
    this.#written = 0;
    this.#listener.stepping();
    this.#machine.step(input, this);
  }

  /** A host calls it right after each step: it is part of the step. */
  invariants(): void {
    this.#machine.invariants();
    const input = this.#input!;
    if (input.kind === 'message') this.#listener.stepped(input.message.type, itemsOf(input.message));
    else this.#listener.stepped(this.#kindOf(input), this.#written);
  }

  #kindOf(input: Exclude<Input<M>, { kind: 'message' }>): string {
    const what = input.kind === 'timer' ? input.timer : input.kind;
    const kind = this.#kinds.get(what) ?? `${this.#role} ${what}`;
    this.#kinds.set(what, kind);
    return kind;
  }

  describe(): object {
    return this.#machine.describe();
  }

  send(...sent: Parameters<Effects<M>['send']>): void {
    this.#out!.send(...sent);
  }

  sendAfterPersist(...sent: Parameters<Effects<M>['sendAfterPersist']>): void {
    this.#out!.sendAfterPersist(...sent);
  }

  write(record: DurableRecord): WriteSeq {
    this.#written++;
    return this.#out!.write(record);
  }

  lastWrite(): WriteSeq {
    return this.#out!.lastWrite();
  }

  setTimer(...timer: Parameters<Effects<M>['setTimer']>): void {
    this.#out!.setTimer(...timer);
  }
}
