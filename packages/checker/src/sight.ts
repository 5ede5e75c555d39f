import { NONE } from './indexed.js';
import type { Hop, PathFinder } from './paths.js';
import type { Scene } from './scene.js';

/** What a reader must not miss, and why. */
export interface Miss {
  readonly writer: number;
  readonly path: readonly Hop[];
}

/**
 * What a guarantee demands to be seen. All of them follow one scheme (Biswas and Enea, OOPSLA 2019): if T3 reads x from T1,
 * and T3 must see T2, which writes x too, then T2 comes before T1 in the order of commits. They differ in *must see*.
 */
export abstract class Sight {
  protected readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  /**
   * The writers of a key that a reader must see. Those that others of the list follow in their session may be left out, and
   * so may those that happened before `seen`, which it saw (`NONE`: no version).
   */
  abstract past(reader: number, key: number, seen: number): number[];

  /** Whether who must see a transaction must see all that its session wrote before. */
  abstract readonly coversEarlier: boolean;

  /** Why a reader must see a writer. */
  abstract witness(writer: number, reader: number, paths: PathFinder): readonly Hop[];

  /** Visits what comes before a version in the order of commits, each with the read that says so. */
  forVersion(version: number, key: number, reads: Int32Array, visit: (other: number, read: number) => void): void {
    for (const read of reads) {
      for (const other of this.past(this.scene.reads.tx.at(read), key, version)) visit(other, read);
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
    const run = this.scene.writers.runOf(key, session);
    const writer = run === NONE ? NONE : this.scene.writers.last(run, count);
    if (writer !== NONE) past.push(writer);
  }
}
