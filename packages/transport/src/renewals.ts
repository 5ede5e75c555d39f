import type { NodeId } from '@isochron/core';
import { realTime, type Scheduler } from './delay-line.js';

/** Time between the renewals of two links, ms: no moment has all links of a node in a handshake. */
export const RENEW_EVERY_MS = 250;

/** The links whose connections are to be replaced, one after the other. */
export class Renewals {
  readonly #waiting = new Set<NodeId>();
  #cancel: (() => void) | undefined;
  #stopped = false;

  constructor(
    readonly renew: (node: NodeId) => void,
    readonly scheduler: Scheduler = realTime,
  ) {}

  /** A link that waits already is renewed once. */
  add(node: NodeId): void {
    if (this.#stopped) return;
    this.#waiting.add(node);
    this.#cancel ??= this.scheduler.after(0, () => this.#next());
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #next(): void {
    this.#cancel = undefined;
    const [node] = this.#waiting;
    if (node === undefined) return;
    this.#waiting.delete(node);
    this.renew(node);
    this.#cancel = this.scheduler.after(RENEW_EVERY_MS, () => this.#next());
  }
}
