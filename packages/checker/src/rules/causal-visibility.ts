import { NONE } from '../input/indexed-history.js';
import type { Analysis } from '../order/analysis.js';
import type { Hop, PathFinder } from '../order/paths.js';
import { type Miss, VisibilityRule } from './visibility-rule.js';

/** Causal convergence: a reader must see everything that happened before it. */
export class CausalVisibility extends VisibilityRule {
  readonly coversEarlier: boolean = true;

  /** Per session that wrote the key: the largest count among the readers of a version, and the read it comes from. */
  readonly #bestCount: Int32Array;
  readonly #bestRead: Int32Array;

  constructor(analysis: Analysis) {
    super(analysis);
    this.#bestCount = new Int32Array(analysis.history.sessions.length);
    this.#bestRead = new Int32Array(analysis.history.sessions.length);
  }

  past(reader: number, key: number): number[] {
    const { writers, clocks } = this.analysis;
    const past: number[] = [];
    for (let run = writers.keyStart[key]!; run < writers.keyStart[key + 1]!; run++) {
      const other = writers.last(run, clocks.count(reader, writers.runSession.at(run)));
      if (other !== NONE) past.push(other);
    }
    for (const other of writers.indeterminate(key)) if (clocks.before(other, reader)) past.push(other);
    return past;
  }

  witness(writer: number, reader: number, paths: PathFinder): readonly Hop[] {
    return paths.find(reader, (tx) => tx === writer)!;
  }

  /** One search per session that wrote the key, however many readers there are. */
  override forVersion(
    version: number,
    key: number,
    reads: Int32Array,
    visit: (other: number, read: number) => void,
  ): void {
    const { writers, clocks, reads: all } = this.analysis;
    const first = writers.keyStart[key]!;
    const runs = writers.keyStart[key + 1]! - first;
    this.#collectCounts(reads, first, runs);
    for (let i = 0; i < runs; i++) {
      const count = this.#bestCount[i]!;
      const other = count === 0 ? NONE : writers.last(first + i, count);
      if (other !== NONE) visit(other, this.#bestRead[i]!);
    }
    for (const other of writers.indeterminate(key)) {
      if (clocks.before(other, version)) continue;
      const read = reads.find((r) => clocks.before(other, all.tx.at(r)));
      if (read !== undefined) visit(other, read);
    }
  }

  /** Any writer of the past will do, not only the last of its session: an earlier one may be closer. */
  override nearest(
    reader: number,
    key: number,
    _seen: number,
    accept: (tx: number) => boolean,
    paths: PathFinder,
  ): Miss {
    const accepted = new Set(this.analysis.writers.all(key).filter(accept));
    const path = paths.find(reader, (tx) => accepted.has(tx))!;
    return { writer: path[0]!.from, path };
  }

  #collectCounts(reads: Int32Array, first: number, runs: number): void {
    const { writers, clocks, reads: all } = this.analysis;
    this.#bestCount.fill(0, 0, runs);
    for (const read of reads) {
      const tx = all.tx.at(read);
      for (let i = 0; i < runs; i++) {
        const count = clocks.count(tx, writers.runSession.at(first + i));
        if (count <= this.#bestCount[i]!) continue;
        this.#bestCount[i] = count;
        this.#bestRead[i] = read;
      }
    }
  }
}

/** Durability: the final state must see everything, and is the only reader. */
export class FinalVisibility extends CausalVisibility {
  override past(reader: number, key: number): number[] {
    return reader === this.analysis.order.final ? super.past(reader, key) : [];
  }

  override forVersion(
    version: number,
    key: number,
    reads: Int32Array,
    visit: (other: number, read: number) => void,
  ): void {
    const { reads: all, order } = this.analysis;
    const own = reads.filter((read) => all.tx.at(read) === order.final);
    if (own.length > 0) super.forVersion(version, key, own, visit);
  }
}
