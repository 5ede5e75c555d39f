/**
 * A reader of the change feed: follows it over the nodes of all regions, each request at another one, and goes on from
 * its cursor after a lost answer.
 */
import type { NodeId, Random, Timestamp, Topology } from '@isochron/core';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import type { HttpAnswer } from '../protocols/http.js';
import type { CallerNetwork } from './http-caller.js';

/** A message of the feed. */
export type ChangesAnswer = Extract<HttpAnswer, { status: 'changes' }>;

/** Pauses between two requests, and the longest wait for an answer, ms. */
const PAUSE_MS = 30;
const TIMEOUT_MS = 3_000;

/** Receives everything that a reader gets. */
export interface FeedObserver {
  /** The reader begins anew at a timestamp: at its start, and when its cursor was refused. */
  beganFeed(reader: string, at: Timestamp, gone: boolean): void;
  received(reader: string, node: NodeId, message: ChangesAnswer): void;
}

export class FeedReader {
  readonly #time: VirtualTime;
  readonly #topology: Topology;
  #cursor: Timestamp | null = null;
  #gone = false;

  constructor(
    readonly name: string,
    readonly network: CallerNetwork,
    readonly random: Random,
    readonly observer: FeedObserver,
  ) {
    this.#time = network.time;
    this.#topology = network.topology;
  }

  /** It has everything up to here. */
  get position(): Timestamp {
    return this.#cursor ?? 0;
  }

  start(): void {
    const node = this.random.pick(this.#topology.nodes);
    let settled = false;
    const settle = (answer: HttpAnswer | undefined) => {
      if (settled) return;
      settled = true;
      this.#take(node, answer);
      this.#time.after(this.random.float() * 2 * PAUSE_MS, () => this.start());
    };
    this.#time.after(TIMEOUT_MS, () => settle(undefined));
    const request = { token: undefined, f: 'changes', after: this.#cursor } as const;
    this.network.http(this.random, this.#topology.regionOf(node), node, request, settle);
  }

  #take(node: NodeId, answer: HttpAnswer | undefined): void {
    if (answer?.status === 'refused' && answer.code === 'CHANGES_GONE') {
      this.#cursor = null;
      this.#gone = true;
    }
    if (answer?.status !== 'changes') return;
    if (this.#cursor === null) {
      this.observer.beganFeed(this.name, answer.to, this.#gone);
      this.#gone = false;
    } else this.observer.received(this.name, node, answer);
    this.#cursor = answer.to;
  }
}
