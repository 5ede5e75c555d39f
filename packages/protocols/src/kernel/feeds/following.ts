/**
 * How readers get what has changed in their scopes (CF1, LQ4, LQ6).
 *
 * A reader that is behind takes a page of each of its partitions at its position, and goes on where the shortest one
 * ends. At the ends of the tails nothing is left to take. If nothing lies there beyond its position either, the reader
 * is settled: it is not looked at again until the index finds it for a change, or its request ends. So an idle reader
 * costs nothing, however often stable time moves.
 */
import type { PartitionId, Timestamp, WallMs } from '@isochron/core';
import type { Effects } from '../../machine.js';
import { CatchingUp } from './catching-up.js';
import { collect } from './collected.js';
import { join } from './join.js';
import type { LogClient } from './log-client.js';
import type { FeedsState } from './log-server.js';
import type { ChangesPageResp, FeedMessage } from './messages.js';
import { changesAfter, changesFor, type LogRangePage, Pages } from './pages.js';
import type { HeldScope, Reader } from './reader.js';
import type { Scope } from './scope.js';
import { ScopeIndex } from './scope-index.js';
import { Tails } from './tails.js';
import { Turns } from './turns.js';

type Out = Effects<FeedMessage>;

/** Bounds of the work and the memory for readers. */
export interface FollowingLimits {
  /** Pages that are kept for readers, in estimated bytes. */
  readonly cacheBytes: number;
  /** Pages that readers that are behind keep at most. */
  readonly behindPages: number;
  /** Transactions and pages that one step examines; readers that are not done go on in the next one, after a rest. */
  readonly stepWork: number;
  /**
   * Transactions that are examined for one request of a live reader at most. One that is further behind has to read its
   * scopes anew, which costs a node less: otherwise readers of a node with too much work would fall behind for good.
   */
  readonly behindWork: number;
}

export const FOLLOWING_LIMITS: FollowingLimits = {
  cacheBytes: 16 * 2 ** 20,
  behindPages: 256,
  stepWork: 50_000,
  behindWork: 5_000,
};

/** An answer costs a node as much as this many examined transactions: most of that is for its session and socket. */
const ANSWER_WORK = 200;

/** How a reader's request ends: with everything up to its position, or with a refusal. */
export interface Ends {
  answer(reader: Reader, out: Out): void;
  gone(reader: Reader, truncatedUpTo: Timestamp, out: Out): void;
  tooFarBehind(reader: Reader, out: Out): void;
}

export class Following {
  /** Readers that the index found, and looks at a reader: the work that changes cause. */
  readonly counters = { found: 0, looks: 0 };
  readonly #pages: Pages;
  readonly #tails = new Tails();
  readonly #index = new ScopeIndex<HeldScope>();
  /** Each reader that is not settled, at one of the partitions that it lacks a page of. */
  readonly #waiting = new Map<PartitionId, Set<Reader>>();
  readonly #behind: CatchingUp;
  /** Readers to look at. */
  readonly #ready = new Set<Reader>();
  /** Readers at the tails that something has come for: looked at with the next turn. */
  readonly #gathered = new Set<Reader>();
  readonly #turns = new Turns();

  constructor(
    readonly state: FeedsState,
    readonly client: LogClient,
    readonly ends: Ends,
    readonly limits: FollowingLimits,
  ) {
    this.#pages = new Pages(limits.cacheBytes);
    this.#behind = new CatchingUp(limits.behindPages);
  }

  /** Partitions that are followed for readers. */
  get partitions(): number {
    return this.#tails.size;
  }

  /** When the next turn is due; undefined while no reader waits for one. */
  nextTurn(now: WallMs): WallMs | undefined {
    if (this.#ready.size > 0) return this.#turns.next(now);
    return this.#gathered.size > 0 ? this.#turns.gatheredBy : undefined;
  }

  /** Adds a scope to a reader. */
  add(reader: Reader, number: number, scope: Scope, now: WallMs, out: Out): void {
    const held = reader.add(number, scope, this.state.topology);
    this.#index.add(held, held);
    for (const partition of held.partitions)
      if (this.#tails.enter(partition, this.state.stable.value)) this.#follow(partition, now, out);
  }

  /** Removes a scope of a reader, if it has one of this number. */
  remove(reader: Reader, number: number): void {
    const held = reader.remove(number);
    if (held !== undefined) this.#leave(held);
  }

  /** The reader is gone. */
  drop(reader: Reader): void {
    for (const held of reader.scopes()) this.#leave(held);
    this.#unschedule(reader);
  }

  /** A reader's request begins, or its time is over: an answer, if there is one by now. */
  look(reader: Reader, now: WallMs, out: Out): void {
    if (!reader.isSettled) this.#ready.add(reader);
    else if (now >= reader.request!.deadline) this.ends.answer(reader, out);
    this.run(now, out);
  }

  /** A reader's request is about to be answered: its position is where the answer ends. */
  ended(reader: Reader): void {
    if (reader.isSettled) reader.advanceTo(this.#tails.lowest(reader.partitions.keys()) ?? this.state.stable.value);
    this.#waitNoMore(reader);
    this.#behind.leave(reader);
    this.#unschedule(reader);
  }

  onPage(page: ChangesPageResp, now: WallMs, out: Out): void {
    const { partition, upTo } = page;
    this.#pages.add(page);
    this.#behind.offer(page);
    const end = this.#tails.end(partition);
    if (end !== undefined && page.after <= end && upTo > end) {
      for (const { tx } of changesAfter(page, end))
        for (const { key } of tx.writes) this.#index.find(key, ({ reader }) => this.#found(reader, now));
      this.#tails.raise(partition, upTo);
    }
    this.#wake(partition, now);
    this.#follow(partition, now, out);
  }

  /** No replica that can be reached has the log of a partition after a timestamp any more. */
  onGone({ partition, after, truncatedUpTo }: ChangesPageResp, readers: Iterable<Reader>, now: WallMs, out: Out): void {
    // A reader that lacks several pages waits at one of these partitions only.
    for (const reader of new Set([...(this.#waiting.get(partition) ?? []), ...this.#behind.active]))
      if (reader.position === after && this.#lacks(reader, partition)) this.ends.gone(reader, truncatedUpTo, out);
    this.#wake(partition, now);
    if (this.#tails.end(partition) === after) {
      // The tail has a gap: what its readers lack of it they have to request themselves.
      for (const reader of readers) if (reader.partitions.has(partition)) this.#unsettle(reader, now);
      this.#tails.raise(partition, Math.max(truncatedUpTo, this.state.stable.value));
    }
    // The refused request may have been the one that was to bring the tail's next page.
    this.#follow(partition, now, out);
  }

  /** A timer has fired: looks also at the readers at the tails. */
  timer(now: WallMs, out: Out): void {
    this.#turns.timer(now);
    for (const reader of this.#gathered) this.#ready.add(reader);
    this.#gathered.clear();
    this.run(now, out);
  }

  /** Looks at the readers that may go on, until the work of a step is done: then they rest. */
  run(now: WallMs, out: Out): void {
    if (this.#turns.isResting(now)) return;
    for (let work = 0; ; ) {
      const reader = this.#next();
      if (reader === undefined) return;
      if (work >= this.limits.stepWork) {
        this.#ready.add(reader);
        this.#turns.full();
        return;
      }
      if (reader.request === undefined) continue;
      work += this.#advance(reader, this.limits.stepWork - work, now, out);
      if (reader.request === undefined) work += ANSWER_WORK;
    }
  }

  #next(): Reader | undefined {
    const [first = this.#behind.next()] = this.#ready;
    if (first !== undefined) this.#ready.delete(first);
    return first;
  }

  /** Takes pages while there are some. @returns the work done */
  #advance(reader: Reader, limit: number, now: WallMs, out: Out): number {
    const { collected, limitBytes } = reader.request!;
    this.counters.looks++;
    this.#waitNoMore(reader);
    for (let work = 1; ; ) {
      const { pages, missing } = this.#pagesOf(reader);
      work += pages.length;
      if (missing.length > 0 || pages.length === 0) {
        this.#pause(reader, pages, missing, now, out);
        return work;
      }
      const { to, transactions, examined } = join(pages, reader.position, reader.scope);
      reader.request!.examined += examined;
      if (reader.isLive && reader.request!.examined > this.limits.behindWork) {
        this.ends.tooFarBehind(reader, out);
        return work + examined;
      }
      reader.advanceTo(collect(collected, transactions, to, limitBytes));
      work += examined;
      if (collected.bytes >= limitBytes) {
        this.ends.answer(reader, out);
        return work;
      }
      if (work >= limit) {
        this.#ready.add(reader);
        return work;
      }
    }
  }

  /** There is nothing to take at the position: answers what is collected, or waits. */
  #pause(reader: Reader, pages: readonly LogRangePage[], missing: readonly PartitionId[], now: WallMs, out: Out): void {
    const { collected, deadline, catchUpBy } = reader.request!;
    const isBehind = missing.some((partition) => this.#tails.end(partition)! > reader.position);
    const mayGather = isBehind && reader.isLive && this.#behind.admits(reader);
    const isLate = now >= (isBehind ? catchUpBy : deadline);
    const isDone = isLate || (!collected.isEmpty && !mayGather);
    if (isBehind && !isDone) this.#catchUp(reader, pages, missing, now, out);
    // Before the answer, too: the next request of a settled reader costs nothing.
    if (!isBehind) this.#settle(reader, missing);
    if (isDone) this.ends.answer(reader, out);
  }

  /** Requests the pages that a reader lacks, when it is its turn. */
  #catchUp(
    reader: Reader,
    pages: readonly LogRangePage[],
    missing: readonly PartitionId[],
    now: WallMs,
    out: Out,
  ): void {
    if (!this.#behind.enter(reader)) return;
    this.#behind.keep(reader, pages);
    for (const partition of missing) this.client.ask(partition, reader.position, now, out);
    this.#wait(reader, missing.at(-1)!);
  }

  /** At the ends of some tails: the reader is settled if nothing lies beyond its position in its other partitions. */
  #settle(reader: Reader, missing: readonly PartitionId[]): void {
    this.#behind.leave(reader);
    for (const partition of reader.partitions.keys()) {
      if (!this.#mayHaveMore(reader, partition)) continue;
      this.#wait(reader, missing.at(-1)!);
      return;
    }
    reader.isSettled = true;
  }

  /** Whether something in the reader's scope lies between its position and the end of a tail, or may do so. */
  #mayHaveMore(reader: Reader, partition: PartitionId): boolean {
    const end = this.#tails.end(partition)!;
    for (let at = reader.position; at < end; ) {
      const page = this.#pages.find(partition, at);
      if (page === undefined) return true;
      for (const { tx } of changesFor(page, at, reader.scope))
        if (tx.writes.some(({ key }) => reader.scope.has(key))) return true;
      at = page.upTo;
    }
    return false;
  }

  #pagesOf(reader: Reader): { pages: LogRangePage[]; missing: PartitionId[] } {
    const pages: LogRangePage[] = [];
    const missing: PartitionId[] = [];
    for (const partition of reader.partitions.keys()) {
      const page = this.#pageOf(reader, partition);
      if (page === undefined) missing.push(partition);
      else pages.push(page);
    }
    return { pages, missing };
  }

  #lacks(reader: Reader, partition: PartitionId): boolean {
    return reader.partitions.has(partition) && this.#pageOf(reader, partition) === undefined;
  }

  /** The page of a partition at a reader's position. */
  #pageOf(reader: Reader, partition: PartitionId): LogRangePage | undefined {
    return this.#behind.find(reader, partition) ?? this.#pages.find(partition, reader.position);
  }

  /** A change is in a scope of the reader. */
  #found(reader: Reader, now: WallMs): void {
    if (!reader.isSettled) return;
    this.counters.found++;
    this.#unsettle(reader, now);
  }

  /** Before a tail moves: up to the lowest one, nothing was found. */
  #unsettle(reader: Reader, now: WallMs): void {
    if (!reader.isSettled) return;
    reader.advanceTo(this.#tails.lowest(reader.partitions.keys())!);
    reader.isSettled = false;
    this.#gather(reader, now);
  }

  #gather(reader: Reader, now: WallMs): void {
    if (this.#gathered.size === 0) this.#turns.gather(now);
    this.#gathered.add(reader);
  }

  #unschedule(reader: Reader): void {
    this.#ready.delete(reader);
    this.#gathered.delete(reader);
  }

  #wait(reader: Reader, partition: PartitionId): void {
    const waiting = this.#waiting.get(partition) ?? new Set();
    this.#waiting.set(partition, waiting.add(reader));
    reader.waitsAt = partition;
  }

  #waitNoMore(reader: Reader): void {
    if (reader.waitsAt !== undefined) this.#waiting.get(reader.waitsAt)?.delete(reader);
    reader.waitsAt = undefined;
  }

  #wake(partition: PartitionId, now: WallMs): void {
    for (const reader of this.#waiting.get(partition) ?? []) {
      reader.waitsAt = undefined;
      if (this.#behind.isActive(reader)) this.#ready.add(reader);
      else this.#gather(reader, now);
    }
    this.#waiting.delete(partition);
  }

  /** The next page of a tail, while it has readers. */
  #follow(partition: PartitionId, now: WallMs, out: Out): void {
    const end = this.#tails.end(partition);
    if (end !== undefined) this.client.ask(partition, end, now, out);
  }

  #leave(held: HeldScope): void {
    this.#index.delete(held, held);
    for (const partition of held.partitions) this.#tails.leave(partition);
  }
}
