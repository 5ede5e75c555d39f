/**
 * A reader of the change feed: follows it over the nodes of all regions, and goes on from its cursor after a lost
 * answer. It reads the documents of its scope at a cursor, too: first for a copy to begin with, later to compare.
 */
import type { NodeId, QualifiedKey, Random, RegionId, Timestamp } from '@isochron/core';
import type { FeedObservations } from '../checks/evidence/observations.js';
import { type Co, run, waitFor } from '../engine/coroutine.js';
import type { ReaderPlan } from '../plan/plan.js';
import type { HttpAnswer, HttpRequest } from '../protocols/http.js';
import type { CallerNetwork } from './http-caller.js';

/** The longest wait for an answer beside the time that a request asks for, ms. */
const TIMEOUT_MS = 3_000;

/** The observers of a run's readers. */
export interface ReaderWorld {
  readonly observer: FeedObservations;
  note(reader: string, what: () => string): void;
}

export class FeedReader {
  #cursor: Timestamp | undefined;
  #region: RegionId;
  #node: NodeId;
  #hurries = false;

  constructor(
    readonly plan: ReaderPlan,
    /** The keys of its scope. */
    readonly keys: readonly QualifiedKey[],
    readonly network: CallerNetwork,
    readonly random: Random,
    readonly world: ReaderWorld,
  ) {
    this.#node = random.pick(network.topology.nodes);
    this.#region = network.topology.regionOf(this.#node);
  }

  get name(): string {
    return this.plan.name;
  }

  /** It has everything up to here. */
  get position(): Timestamp {
    return this.#cursor ?? 0;
  }

  start(): void {
    const always = () => true;
    run(this.#follow(), always, () => {});
  }

  /** It stops no more. */
  hurry(): void {
    this.#hurries = true;
  }

  *#follow(): Co<never> {
    yield* this.#pause(this.plan.beginMs);
    for (;;) {
      yield* this.#pause(this.#restMs());
      const cursor = this.#cursor;
      if (cursor === undefined) yield* this.#begin();
      else yield* this.#next(cursor);
    }
  }

  /** Until its next request: a pause, or the end of a stop. */
  #restMs(): number {
    const { now } = this.network.time;
    const stops = this.#hurries ? [] : this.plan.stops;
    const left = stops.map(({ atMs, forMs }) => (now >= atMs ? atMs + forMs - now : 0));
    return Math.max(this.random.float() * 2 * this.plan.pauseMs, ...left);
  }

  *#begin(): Co<void> {
    const answer = yield* this.#ask(this.#request(null));
    if (answer?.status !== 'changes') return;
    this.#cursor = answer.to;
    this.world.observer.feedBegan(this.plan, answer.to);
    yield* this.#compare(answer.to);
  }

  *#next(cursor: Timestamp): Co<void> {
    const answer = yield* this.#ask(this.#request(cursor));
    if (answer?.status === 'refused' && answer.code === 'CHANGES_GONE') {
      this.#cursor = undefined;
      this.world.observer.feedGone(this.plan, cursor);
    }
    if (answer?.status !== 'changes') return;
    this.#cursor = answer.to;
    this.world.observer.feedReceived(this.plan, this.#node, answer);
    if (this.random.chance(this.plan.compares)) yield* this.#compare(answer.to);
  }

  *#compare(at: Timestamp): Co<void> {
    const { keys } = this;
    const answer = yield* this.#ask({ f: 'past', at, keys });
    if (answer?.status !== 'past') return;
    const versions = new Map(keys.map((key, i) => [key, answer.versions[i] ?? null]));
    this.world.observer.feedCompared(this.plan, this.#node, at, versions);
  }

  #request(after: Timestamp | null): HttpRequest {
    const { prefix, waitMs, limitBytes, documents = false } = this.plan;
    return { f: 'changes', prefix, after, waitMs, limitBytes, documents };
  }

  /** Undefined when no answer has come in time. */
  *#ask(request: HttpRequest): Co<HttpAnswer | undefined> {
    this.#roam();
    this.#note(() => `asks ${this.#node}: ${JSON.stringify(request)}`);
    const answer = yield* waitFor<HttpAnswer | undefined>((resume) => {
      this.network.time.after(this.plan.waitMs + TIMEOUT_MS, () => resume(undefined));
      this.network.http(this.random, this.#region, this.#node, request, resume);
    });
    this.#note(() => `receives ${JSON.stringify(answer)}`);
    return answer;
  }

  #note(what: () => string): void {
    this.world.note(this.name, what);
  }

  /** Now and then it asks another node, and now and then it is in another region. */
  #roam(): void {
    const { random, network } = this;
    if (!random.chance(this.plan.roams)) return;
    this.#node = random.pick(network.topology.nodes);
    if (random.chance(0.5)) this.#region = network.topology.regionOf(this.#node);
  }

  #pause(ms: number): Co<void> {
    return waitFor<void>((resume) => {
      this.network.time.after(ms, () => resume());
    });
  }
}
