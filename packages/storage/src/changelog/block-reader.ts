/** Reads the entries of the log that checkpoints have written. */

import { corrupt } from '../failure.js';
import type { BlockName } from '../level/disk-keys.js';
import { LOG_BLOCK, openAs } from '../level/records.js';
import type { Partition } from '../memory/partition.js';
import type { BlockFiles } from './block-files.js';
import { compareEntries, type LogEntry, logEntry } from './log-entries.js';

/**
 * The entries of a block; none when a truncation has removed it meanwhile.
 * @throws CorruptRecord
 */
async function readBlock(files: BlockFiles, { keys, horizons }: Partition, block: BlockName): Promise<LogEntry[]> {
  const name = keys.blockContent(block);
  const bytes = await files.read(block.place);
  if (bytes !== undefined) return openAs(LOG_BLOCK, bytes, name).map(logEntry);
  if (block.end <= horizons.logTruncatedUpTo) return [];
  throw corrupt(name, 'missing', 'it is missing');
}

/** An entry, and the number of its block in the order of writing. */
interface Written {
  readonly entry: LogEntry;
  readonly block: number;
}

/**
 * The entries of blocks in the order of the log. Of two entries of a transaction the one that was written later counts.
 *
 * @param blocks in the order in which they were written
 * @throws CorruptRecord
 */
export async function* entriesOf(
  files: BlockFiles,
  partition: Partition,
  blocks: readonly BlockName[],
): AsyncGenerator<LogEntry> {
  /** In order; a block that is not read yet may have entries between them. */
  let waiting: Written[] = [];
  const byRange = [...blocks.entries()].sort(([, a], [, b]) => a.first - b.first);
  for (const [number, block] of byRange) {
    const settled = waiting.findIndex(({ entry }) => entry.ct >= block.first);
    for (const { entry } of waiting.splice(0, settled < 0 ? waiting.length : settled)) yield entry;
    const read = (await readBlock(files, partition, block)).map((entry) => ({ entry, block: number }));
    waiting = merged(waiting, read);
  }
  for (const { entry } of waiting) yield entry;
}

function merged(some: readonly Written[], others: readonly Written[]): Written[] {
  if (some.length === 0) return [...others];
  const all = [...some, ...others].sort((a, b) => compareEntries(a.entry, b.entry) || b.block - a.block);
  return all.filter(({ entry }, i) => i === 0 || compareEntries(all[i - 1]!.entry, entry) !== 0);
}
