/**
 * The blocks of a partition's log: a checkpoint writes the entries that came since the one before, some at a time. The
 * ranges of blocks of one checkpoint follow one another. Those of two checkpoints overlap a little: entries of other
 * regions arrive late.
 */
import type { Timestamp } from '@isochron/core';
import type { BlockContent, BlockName } from '../level/disk-keys.js';
import { firstAbove, type LogEntry } from './log-entries.js';

/** A block ends with the group that reaches this, in estimated bytes. */
const BLOCK_BYTES = 128 * 1024;

/** The blocks whose names LevelDB holds. */
export class LogBlocks {
  /** In the order in which they were written. */
  #all: BlockName[] = [];
  #own: Timestamp = 0;

  /** Blocks come in the order in which they were written. */
  add(block: BlockName): void {
    this.#all.push(block);
    this.#own = Math.max(this.#own, block.own);
  }

  /** The last timestamp of an own entry in a block, 0 without one. */
  get own(): Timestamp {
    return this.#own;
  }

  /** The blocks with an entry above a timestamp, in the order in which they were written. */
  above(after: Timestamp): BlockName[] {
    return this.#all.filter(({ end }) => end > after);
  }

  /** Removes the blocks without an entry above a timestamp, and returns them. */
  truncate(upTo: Timestamp): BlockName[] {
    const gone = this.#all.filter(({ end }) => end <= upTo);
    if (gone.length > 0) this.#all = this.above(upTo);
    return gone;
  }

  /**
   * Where the log must be truncated for its settled blocks (all at or below UST) to take no more than some bytes; 0
   * when they take no more.
   */
  truncationFor(limit: number, settled: Timestamp): Timestamp {
    if (limit === Number.POSITIVE_INFINITY) return 0;
    const blocks = this.#all.filter(({ end }) => end <= settled).sort((a, b) => a.end - b.end);
    let bytes = blocks.reduce((sum, block) => sum + block.bytes, 0);
    let upTo = 0;
    for (const block of blocks) {
      if (bytes <= limit) break;
      bytes -= block.bytes;
      upTo = block.end;
    }
    return upTo;
  }
}

/** Order in which blocks were written. */
export const compareBlocks = ({ place: a }: BlockName, { place: b }: BlockName): number =>
  a.file - b.file || a.offset - b.offset;

/** Cuts the entries above a timestamp, which are in order, into blocks of bounded size. A group is never cut. */
export function cutBlocks(entries: readonly LogEntry[], after: Timestamp): LogEntry[][] {
  const blocks: LogEntry[][] = [];
  let bytes = BLOCK_BYTES;
  let last: Timestamp = -1;
  for (let i = firstAbove(entries, after); i < entries.length; i++) {
    const entry = entries[i]!;
    if (bytes >= BLOCK_BYTES && entry.ct !== last) {
      blocks.push([]);
      bytes = 0;
    }
    blocks.at(-1)!.push(entry);
    bytes += entry.bytes;
    last = entry.ct;
  }
  return blocks;
}

/** The content of a block with these entries. */
export const contentOfBlock = (entries: readonly LogEntry[]): BlockContent => ({
  first: entries[0]!.ct,
  end: entries.at(-1)!.ct,
  own: entries.findLast(({ source }) => source === undefined)?.ct ?? 0,
  bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
});
