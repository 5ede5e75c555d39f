/** Whether a node takes work: from the end of its recovery until it is about to close. */
import { IsochronError, Quota, type Timestamp } from '@isochron/core';
import type { VerificationStatus } from '@isochron/protocols';
import type { Done } from '../coordinator/request-port.js';
import { LimitCounts } from './limit-counts.js';
import { OpenTransactions } from './open-transactions.js';
import { Rates } from './rates.js';
import { DEFAULT_SERVING_LIMITS, type ServingLimits } from './serving-limits.js';

/**
 * `open`: it serves. `leaving`: sessions are sent elsewhere and no new ones taken. `refusing`: new HTTP requests are
 * refused too; work begun here is finished.
 */
export type ServingPhase = 'open' | 'leaving' | 'refusing';

/** The node that serves. */
export interface ServingNode {
  /** Whether its data and its clock let it serve. */
  ready(): boolean;
  /** What guards its peers and not this node, so that it serves no client; undefined when it may serve. */
  unprotected(): string | undefined;
  /** Why its wall clock may not go into timestamps (K2); undefined when it may. */
  clockProblem(): string | undefined;
  /** The state of the verification of its disk (D10). */
  verification(): Pick<VerificationStatus, 'state'>;
  /** Its wall clock, ms. */
  now(): number;
  /** A clock that never jumps, ms. */
  steady(): number;
  /** Its stable time. */
  ust(): Timestamp;
  /** Ends with the time that every node of every region serves, once that has reached `ts`, or with STABLE_TIMEOUT. */
  stable(ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void;
  /** Ends with its stable time, once that has reached `ts`, or with STABLE_TIMEOUT. */
  visibleHere(ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void;
}

/** The places of requests that wait, and the name of their limit. */
interface Places {
  readonly quota: Quota;
  readonly limit: keyof ServingLimits;
}

export class Serving {
  #phase: ServingPhase = 'open';
  /** Each ends a wait with an error. */
  readonly #waits = new Set<(error: IsochronError) => void>();
  readonly #waiting: Places;
  readonly #feeds: Places;
  #lastReader = 0;
  /** Transactions that clients have open here. */
  readonly transactions: OpenTransactions;
  /** How often each limit was reached. */
  readonly reached = new LimitCounts();
  readonly rates: Rates;
  readonly helloMs: number;
  /** Memory or the event loop is beyond its bound: sessions are refused new work until it is not. */
  isOverloaded = false;
  /** Returns why another node should get new connections; undefined while this one has room. */
  crowding: () => string | undefined = () => undefined;

  constructor(
    readonly node: ServingNode,
    /** How long a transaction may be open. */
    maxTransactionMs: number,
    limits: Partial<ServingLimits> = {},
  ) {
    const all = { ...DEFAULT_SERVING_LIMITS, ...limits };
    this.#waiting = { limit: 'waits', quota: new Quota(all.waits, all.waitsPerClient) };
    this.#feeds = { limit: 'feeds', quota: new Quota(all.feeds, all.feedsPerClient) };
    this.transactions = new OpenTransactions(all, maxTransactionMs, () => node.now(), this.reached);
    this.helloMs = all.helloMs;
    this.rates = new Rates(all, () => node.steady(), this.reached);
  }

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
    return new IsochronError('NOT_READY', `The node is ${this.state}. Repeat the request, or ask another node.`);
  }

  /** Why it is not ready: `The node is …`. */
  get state(): string {
    return this.#phase === 'open' ? this.#notYet() : 'about to close';
  }

  #notYet(): string {
    const unprotected = this.node.unprotected();
    if (unprotected !== undefined) return unprotected;
    const problem = this.node.clockProblem();
    if (problem !== undefined) return `not ready: ${problem}`;
    return this.node.verification().state === 'verifying' ? 'verifying its disk' : 'starting';
  }

  /** No new sessions; requests that wait end: they have to wait elsewhere. */
  leave(): void {
    if (this.#phase === 'open') this.#phase = 'leaving';
    this.endWaits();
  }

  /** Requests that wait end, and are refused. */
  endWaits(): void {
    for (const end of this.#waits) end(this.notReady());
  }

  /** No new requests at all. */
  refuse(): void {
    this.leave();
    this.#phase = 'refusing';
  }

  /**
   * Waits until every node of every region serves a timestamp, as long as this node stays. Ends with the time that all
   * of them serve, with `STABLE_TIMEOUT`, with `NOT_READY` when the node is about to close, or with `OVERLOADED`.
   * @param client the holder of the share that the wait uses
   * @returns ends it early; undefined if it is refused
   */
  stable(client: string, ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): Done<Timestamp> | undefined {
    const end = this.#wait(this.#waiting, client, 'stable time', done);
    if (end !== undefined) this.node.stable(ts, timeoutMs, end);
    return end;
  }

  /**
   * Waits until this node's stable time has reached a timestamp, as long as the node stays. Ends with the stable time,
   * with `STABLE_TIMEOUT`, with `NOT_READY` when the node is about to close, or with `OVERLOADED`.
   * @param client the holder of the share that the wait uses
   */
  visibleHere(client: string, ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void {
    const ust = this.node.ust();
    if (ust >= ts) {
      done(ust);
      return;
    }
    const end = this.#wait(this.#waiting, client, 'stable time', done);
    if (end !== undefined) this.node.visibleHere(ts, timeoutMs, end);
  }

  /**
   * A wait for changes begins. It ends with the first call of what this returns, with `NOT_READY` when the node is
   * about to close, or at once with `OVERLOADED`: then it returns undefined.
   * @param client the holder of the share that the wait uses
   */
  feed<T>(client: string, done: Done<T>): Done<T> | undefined {
    return this.#wait(this.#feeds, client, 'changes', done);
  }

  /** Returns a number for a new live reader at the feeds of the node. */
  newReader(): number {
    return ++this.#lastReader;
  }

  /** The callback that ends a new wait, once; undefined if it is refused. */
  #wait<T>({ quota, limit }: Places, client: string, what: string, done: Done<T>): Done<T> | undefined {
    if (this.#phase !== 'open') {
      done(this.notReady());
      return undefined;
    }
    if (!quota.take(client)) {
      this.reached.reached(limit);
      done(new IsochronError('OVERLOADED', `Too many requests wait for ${what}. Repeat it later, or elsewhere.`));
      return undefined;
    }
    const end: Done<T> = (result) => {
      if (!this.#waits.delete(end)) return;
      quota.give(client);
      done(result);
    };
    this.#waits.add(end);
    return end;
  }
}
