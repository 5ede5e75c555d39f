/** Whether this node takes work: it does once it has recovered, until it is told to close. */
import { IsochronError, type Timestamp } from '@isochron/core';
import type { RunningNode } from '../node/api.js';

/**
 * `open`: it serves. `leaving`: sessions are sent elsewhere and no new ones taken. `refusing`: new HTTP requests are refused too; what was
 * begun here is finished.
 */
export type ServingPhase = 'open' | 'leaving' | 'refusing';

export class Serving {
  #phase: ServingPhase = 'open';
  readonly #waits = new Set<(error: IsochronError) => void>();

  constructor(readonly node: RunningNode) {}

  get phase(): ServingPhase {
    return this.#phase;
  }

  /** For load balancers and new sessions. */
  get ready(): boolean {
    return this.#phase === 'open' && this.node.ready();
  }

  /** Refuses new sessions. @throws IsochronError `NOT_READY` */
  admitSession(): void {
    if (!this.ready) throw this.notReady();
  }

  /** Whether new HTTP requests are served. */
  get admitsRequests(): boolean {
    return this.#phase !== 'refusing' && this.node.ready();
  }

  notReady(): IsochronError {
    const what = this.#phase === 'open' ? this.#notYet() : 'about to close';
    return new IsochronError('NOT_READY', `The node is ${what}. Repeat the request, or ask another node.`);
  }

  #notYet(): string {
    const problem = this.node.clockProblem();
    if (problem !== undefined) return `not ready: ${problem}`;
    return isVerifying(this.node) ? 'verifying its disk' : 'starting';
  }

  /** No new sessions; who waits here for stable time is told to wait elsewhere. */
  leave(): void {
    if (this.#phase === 'open') this.#phase = 'leaving';
    for (const reject of this.#waits) reject(this.notReady());
    this.#waits.clear();
  }

  /** No new requests at all. */
  refuse(): void {
    this.leave();
    this.#phase = 'refusing';
  }

  /**
   * Waits until every node of every region serves a timestamp, as long as this node stays. Resolves with the time that
   * all of them serve.
   * @throws IsochronError `STABLE_TIMEOUT`; `NOT_READY` when the node is about to close
   */
  stable(ts: Timestamp, timeoutMs: number): Promise<Timestamp> {
    return this.#waiting(() => this.node.stable(ts, timeoutMs));
  }

  /**
   * Waits until this node's stable time has reached a timestamp, as long as the node stays. Resolves with the stable
   * time.
   * @throws IsochronError `STABLE_TIMEOUT`; `NOT_READY` when the node is about to close
   */
  visibleHere(ts: Timestamp, timeoutMs: number): Promise<Timestamp> {
    if (this.node.ust() >= ts) return Promise.resolve(this.node.ust());
    return this.#waiting(() => this.node.visibleHere(ts, timeoutMs));
  }

  #waiting(wait: () => Promise<Timestamp>): Promise<Timestamp> {
    return new Promise((resolve, reject) => {
      if (this.#phase !== 'open') return reject(this.notReady());
      this.#waits.add(reject);
      wait()
        .then(resolve, reject)
        .finally(() => this.#waits.delete(reject));
    });
  }
}

/** Whether the node waits for its peers to confirm that its disk was not rolled back. */
const isVerifying = (node: RunningNode): boolean => node.verification().state === 'verifying';
