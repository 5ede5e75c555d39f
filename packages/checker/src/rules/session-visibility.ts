import { invariant } from '@isochron/core';
import { NONE } from '../input/indexed-history.js';
import type { Analysis } from '../order/analysis.js';
import type { Hop, PathFinder } from '../order/paths.js';
import { VisibilityRule } from './visibility-rule.js';

/*
 * The four session guarantees (Terry et al., PDIS 1994) and atomic visibility (Bailis et al., SIGMOD 2014), for whole
 * transactions. None of them covers the final state.
 */

/** Read your writes: the earlier writes of its session. */
export class ReadYourWrites extends VisibilityRule {
  readonly coversEarlier = true;

  past(reader: number, key: number): number[] {
    const { order } = this.analysis;
    const past: number[] = [];
    if (reader !== order.final) this.addLast(past, key, order.sessionOf(reader), order.rank[reader]!);
    return past;
  }

  witness(writer: number, reader: number): readonly Hop[] {
    return [sessionHop(writer, reader)];
  }
}

/** Read atomicity: the transactions that it read from. */
export class ReadAtomicity extends VisibilityRule {
  readonly coversEarlier = false;

  past(reader: number, key: number): number[] {
    const { order, reads, history } = this.analysis;
    if (reader === order.final) return [];
    return reads.parents(reader).filter((parent) => history.writes(parent, key));
  }

  witness(writer: number, reader: number): readonly Hop[] {
    return [readHop(this.analysis, writer, reader)];
  }
}

/** Monotonic writes: the transactions before, in their sessions, those that it read from. */
export class MonotonicWrites extends VisibilityRule {
  readonly coversEarlier = true;

  past(reader: number, key: number): number[] {
    const { order, reads } = this.analysis;
    const past: number[] = [];
    if (reader === order.final) return past;
    for (const parent of reads.parents(reader)) this.addLast(past, key, order.sessionOf(parent), order.rank[parent]!);
    return past;
  }

  witness(writer: number, reader: number): readonly Hop[] {
    const parents = this.analysis.reads.parents(reader);
    const parent = parents.find((tx) => isSessionOrdered(this.analysis, writer, tx))!;
    return [sessionHop(writer, parent), readHop(this.analysis, parent, reader)];
  }
}

/** Monotonic reads: the transactions that its session read from before. */
export class MonotonicReads extends VisibilityRule {
  readonly coversEarlier = false;

  past(reader: number, key: number): number[] {
    const { order, writers } = this.analysis;
    const past: number[] = [];
    if (reader === order.final) return past;
    const [session, rank] = [order.sessionOf(reader), order.rank[reader]!];
    for (let run = writers.keyStart[key]!; run < writers.keyStart[key + 1]!; run++) {
      const writer = this.analysis.seen().last(run, session, rank);
      if (writer !== NONE) past.push(writer);
    }
    for (const writer of writers.indeterminate(key))
      if (this.#readBefore(writer, reader) !== undefined) past.push(writer);
    return past;
  }

  witness(writer: number, reader: number): readonly Hop[] {
    const earlier = this.#readBefore(writer, reader)!;
    return [readHop(this.analysis, writer, earlier), sessionHop(earlier, reader)];
  }

  /** The last transaction before the reader in its session that read from the writer. */
  #readBefore(writer: number, reader: number): number | undefined {
    const { reads } = this.analysis;
    const read = reads.readsFrom(writer).findLast((r) => isSessionOrdered(this.analysis, reads.tx.at(r), reader));
    return read === undefined ? undefined : reads.tx.at(read);
  }
}

/** Writes follow reads: the writers that the transactions it read from, and those before them, had read from. */
export class WritesFollowReads extends VisibilityRule {
  readonly coversEarlier = false;

  /** Per session, how many of its transactions happened before the reader's parents or are among them. */
  readonly #counts: Int32Array;

  constructor(analysis: Analysis) {
    super(analysis);
    this.#counts = new Int32Array(analysis.history.sessions.length);
  }

  past(reader: number, key: number, seen: number): number[] {
    const { order, reads, writers, clocks } = this.analysis;
    const past: number[] = [];
    if (reader === order.final) return past;
    const parents = reads.parents(reader);
    this.#countUpTo(parents);
    for (let run = writers.keyStart[key]!; run < writers.keyStart[key + 1]!; run++) {
      const last = writers.last(run, clocks.count(reader, writers.runSession.at(run)));
      if (last === NONE || (seen !== NONE && clocks.before(last, seen))) continue;
      const writer = this.#lastSeen(run, last, parents);
      if (writer !== NONE) past.push(writer);
    }
    for (const writer of writers.indeterminate(key)) if (this.#link(writer, parents) !== undefined) past.push(writer);
    return past;
  }

  witness(writer: number, reader: number, paths: PathFinder): readonly Hop[] {
    const link = this.#link(writer, this.analysis.reads.parents(reader))!;
    const middle = link.first === link.last ? [] : paths.find(link.last, (tx) => tx === link.first)!;
    return [readHop(this.analysis, writer, link.first), ...middle, readHop(this.analysis, link.last, reader)];
  }

  #countUpTo(parents: readonly number[]): void {
    const { order, clocks } = this.analysis;
    this.#counts.fill(0);
    for (const parent of parents) {
      for (let s = 0; s < this.#counts.length; s++) {
        this.#counts[s] = Math.max(this.#counts[s]!, clocks.count(parent, s));
      }
      const own = order.sessionOf(parent);
      if (order.isOrdered(parent)) this.#counts[own] = Math.max(this.#counts[own]!, order.rank[parent]! + 1);
    }
  }

  /** The last writer of a run that was seen up to the parents; none is later than `limit`. */
  #lastSeen(run: number, limit: number, parents: readonly number[]): number {
    const { order } = this.analysis;
    let best = NONE;
    const offer = (writer: number): void => {
      if (writer !== NONE && (best === NONE || order.rank[writer]! > order.rank[best]!)) best = writer;
    };
    for (let s = 0; s < this.#counts.length && best !== limit; s++) {
      if (this.#counts[s]! > 0) offer(this.analysis.seen().last(run, s, this.#counts[s]!));
    }
    for (const { reader, writer } of this.analysis.seen().indeterminate(run))
      if (this.#reaches(reader, parents)) offer(writer);
    return best;
  }

  /** The readers of the writer, and the parent that it is or that it happened before. */
  #link(writer: number, parents: readonly number[]): { first: number; last: number } | undefined {
    const { reads } = this.analysis;
    for (const read of reads.readsFrom(writer)) {
      const first = reads.tx.at(read);
      const last = parents.includes(first)
        ? first
        : parents.find((parent) => this.analysis.clocks.before(first, parent));
      if (last !== undefined) return { first, last };
    }
    return undefined;
  }

  #reaches(tx: number, parents: readonly number[]): boolean {
    return parents.some((parent) => parent === tx || this.analysis.clocks.before(tx, parent));
  }
}

function isSessionOrdered({ order }: Analysis, a: number, b: number): boolean {
  return order.isOrdered(a) && order.sessionOf(a) === order.sessionOf(b) && order.rank[a]! < order.rank[b]!;
}

const sessionHop = (from: number, to: number): Hop => ({ relation: 'session', from, to, ref: NONE });

function readHop({ reads }: Analysis, from: number, to: number): Hop {
  let ref = reads.from[to]!;
  while (ref < reads.to[to]! && reads.writer(ref) !== from) ref++;
  invariant(ref < reads.to[to]!, 'a reader read from the writer that it is related to');
  return { relation: 'write-read', from, to, ref };
}
