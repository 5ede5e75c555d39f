/** Observes a machine from outside; the machine and its host do not notice. */
import type { AnyMessage, DurableRecord, ReadNeeds } from '@isochron/core';
import type { Address, Effects, Input, Machine, TimerKind, WriteSeq } from '@isochron/protocols';

/** Receives the events of a machine. */
export interface Listener<M extends AnyMessage> {
  /** Before a step. */
  stepping(self: Address, input: Input<M>): void;
  /** After a step, its effects asked for but not carried out. */
  stepped(self: Address, input: Input<M>): void;
  wrote(self: Address, record: DurableRecord): void;
  /** `cause` is the message that is being handled, if there is one. */
  sends(self: Address, to: Address, message: M, cause: M | undefined): void;
}

export class Tap<M extends AnyMessage> implements Machine<M>, Effects<M> {
  #out: Effects<M> | undefined;
  #cause: M | undefined;
  readonly needs?: (message: M) => ReadNeeds | undefined;

  constructor(
    readonly self: Address,
    readonly machine: Machine<M>,
    readonly listener: Listener<M>,
    /** A process that died in the middle of a turn does nothing more in it. */
    readonly alive: () => boolean,
  ) {
    if (machine.needs !== undefined) this.needs = (message) => machine.needs!(message);
  }

  step(input: Input<M>, out: Effects<M>): void {
    this.#out = out;
    this.#cause = input.kind === 'message' ? input.message : undefined;
    if (!this.alive()) return;
    this.listener.stepping(this.self, input);
    if (!this.alive()) return;
    this.machine.step(input, this);
    this.listener.stepped(this.self, input);
  }

  invariants(): void {
    this.machine.invariants();
  }

  describe(): object {
    return this.machine.describe();
  }

  send(to: Address, message: M, by = this.self): void {
    this.listener.sends(by, to, message, this.#cause);
    this.#out!.send(to, message, by);
  }

  sendAfterPersist(to: Address, message: M, by = this.self): void {
    this.listener.sends(by, to, message, this.#cause);
    this.#out!.sendAfterPersist(to, message, by);
  }

  write(record: DurableRecord): WriteSeq {
    this.listener.wrote(this.self, record);
    return this.#out!.write(record);
  }

  lastWrite(): WriteSeq {
    return this.#out!.lastWrite();
  }

  setTimer(timer: TimerKind, atMs: number, by = this.self): void {
    this.#out!.setTimer(timer, atMs, by);
  }
}
