import { NONE } from '../input/indexed-history.js';
import type { Analysis } from '../order/analysis.js';
import type { Hop, PathFinder } from '../order/paths.js';

/** A write that must be visible to a reader, and why. */
export interface Miss {
  readonly writer: number;
  readonly path: readonly Hop[];
}

/**
 * The writes that a guarantee demands to be visible. All rules follow one scheme (Biswas and Enea, OOPSLA 2019): if T3
 * reads x from T1, and T3 must see T2, which writes x too, then T2 comes before T1 in the order of commits. They differ
 * in *must see*.
 */
export abstract class VisibilityRule {
  protected readonly analysis: Analysis;

  constructor(analysis: Analysis) {
    this.analysis = analysis;
  }

  /**
   * The writers of a key that a reader must see. Those that others of the list follow in their session may be left out,
   * and so may those that happened before `seen`, which it saw (`NONE`: no version).
   */
  abstract past(reader: number, key: number, seen: number): number[];

  /** Whether a reader that must see a transaction must see all that its session wrote before. */
  abstract readonly coversEarlier: boolean;

  /** Why a reader must see a writer. */
  abstract witness(writer: number, reader: number, paths: PathFinder): readonly Hop[];

  /** Visits the transactions before a version in the order of commits, each with the read that shows it. */
  forVersion(version: number, key: number, reads: Int32Array, visit: (other: number, read: number) => void): void {
    for (const read of reads) {
      for (const other of this.past(this.analysis.reads.tx.at(read), key, version)) visit(other, read);
    }
  }

  /** Of the writers that a reader must see and `accept` takes, the one with the shortest reason. */
  nearest(reader: number, key: number, seen: number, accept: (tx: number) => boolean, paths: PathFinder): Miss {
    const misses = this.past(reader, key, seen)
      .filter(accept)
      .map((writer): Miss => ({ writer, path: this.witness(writer, reader, paths) }));
    return misses.reduce((best, miss) => (miss.path.length < best.path.length ? miss : best));
  }

  /** The last writer of a key in a session among its first `count` transactions; added to `past` if there is one. */
  protected addLast(past: number[], key: number, session: number, count: number): void {
    const run = this.analysis.writers.runOf(key, session);
    const writer = run === NONE ? NONE : this.analysis.writers.last(run, count);
    if (writer !== NONE) past.push(writer);
  }
}
