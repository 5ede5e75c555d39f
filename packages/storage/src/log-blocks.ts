/**
 * The blocks of a partition's log on LevelDB: entries of all regions that were settled (at or below UST) when a
 * checkpoint wrote them, some at a time. Nothing is added to the range of a block later, so blocks follow one another.
 */
import type { Timestamp } from '@isochron/core';
import type { BlockName } from './disk-keys.js';
import type { LogEntry } from './log-entries.js';

/** A block ends with the group that reaches this, in estimated bytes. */
const BLOCK_BYTES = 128 * 1024;

/** The blocks that LevelDB holds, or will with the checkpoint on its way. */
export class LogBlocks {
  readonly #all: BlockName[] = [];
  #bytes = 0;
  #end: Timestamp = 0;
  #own: Timestamp = 0;

  /** Blocks come in order. */
  add(block: BlockName): void {
    this.#all.push(block);
    this.#bytes += block.bytes;
    this.#end = block.end;
    this.#own = Math.max(this.#own, block.own);
  }

  /** The last timestamp of the last block, 0 without one. */
  get end(): Timestamp {
    return this.#end;
  }

  /** The last timestamp of an own entry in a block, 0 without one. */
  get own(): Timestamp {
    return this.#own;
  }

  /** Removes blocks without an entry above a timestamp. Returns whether there were any. */
  truncate(upTo: Timestamp): boolean {
    const kept = this.#all.findIndex(({ end }) => end > upTo);
    const gone = this.#all.splice(0, kept < 0 ? this.#all.length : kept);
    for (const { bytes } of gone) this.#bytes -= bytes;
    return gone.length > 0;
  }

  /** Where the log must be truncated for its blocks to take no more than some bytes; 0 when they take no more. */
  truncationFor(limit: number): Timestamp {
    let bytes = this.#bytes;
    let upTo = 0;
    for (const block of this.#all) {
      if (bytes <= limit) break;
      bytes -= block.bytes;
      upTo = block.end;
    }
    return upTo;
  }
}

/** Cuts entries, which are in order, into blocks of bounded size. A group is never cut. */
export function cutBlocks(entries: readonly LogEntry[]): LogEntry[][] {
  const blocks: LogEntry[][] = [];
  let bytes = BLOCK_BYTES;
  let last: Timestamp = -1;
  for (const entry of entries) {
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

/** The name of a block with these entries. */
export const nameOfBlock = (entries: readonly LogEntry[]): BlockName => ({
  end: entries.at(-1)!.ct,
  own: entries.findLast(({ source }) => source === undefined)?.ct ?? 0,
  bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
});
