import { readdir } from 'node:fs/promises';
import { ClassicLevel } from 'classic-level';
import { CorruptRecord, cannotOpen } from '../failure.js';
import { makeFolder } from '../folder.js';
import type { DiskRange } from './disk-keys.js';

/** LevelDB with text keys and binary values. */
export type Disk = ClassicLevel<string, Buffer>;
/** Writes gathered natively: ten times cheaper for the main thread than an array of operations. */
export type Batch = ReturnType<Disk['batch']>;
/** A consistent view for several reads. */
export type DiskSnapshot = ReturnType<Disk['snapshot']>;

/** Limit of a file of the data: LevelDB merges a small one into others after a few reads that miss it. */
const FILE_BYTES = 8 * 1024 * 1024;

/**
 * Opens, or creates, the database in a folder.
 * @throws IsochronError `STORAGE_FAILED` with advice, when the folder is locked or unwritable; of class `CorruptRecord`
 * when it is damaged
 */
export async function openDisk(location: string, blockCacheBytes: number, writeBufferBytes: number): Promise<Disk> {
  try {
    await makeFolder(location);
    await refuseHeadless(location);
    // A database opens itself soon after it was made: its folder must exist before.
    const disk: Disk = new ClassicLevel(location, {
      keyEncoding: 'utf8',
      valueEncoding: 'buffer',
      cacheSize: blockCacheBytes,
      writeBufferSize: writeBufferBytes,
      maxFileSize: FILE_BYTES,
    });
    await disk.open();
    return disk;
  } catch (error) {
    throw cannotOpen(location, error);
  }
}

/** If `CURRENT` is lost, LevelDB would begin anew and delete the data. */
async function refuseHeadless(location: string): Promise<void> {
  const files = await readdir(location);
  if (files.includes('CURRENT') || !files.some((file) => /^\d+\.(ldb|log)$/.test(file))) return;
  throw new CorruptRecord(null, 'database', `The data folder ${location} holds data, but its file CURRENT is lost`);
}

/**
 * Reads an entry on this thread. The key goes as bytes: for text, classic-level 3.0.0 writes the key into a buffer that
 * it keeps, and where a character of several bytes does not fit behind the others, it looks for a key that is cut off
 * there and finds no entry.
 */
export const readNow = (disk: Pick<Disk, 'getSync'>, key: string, snapshot?: DiskSnapshot): Buffer | undefined =>
  disk.getSync<Buffer, Buffer>(Buffer.from(key), {
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
    ...(snapshot && { snapshot }),
  });

/** Entries that one step of a scan brings from disk; a step takes well under a millisecond of the main thread. */
const STEP_ENTRIES = 256;
const STEP_BYTES = 256 * 1024;

/** Passes every entry of a range to `each`, in order, until that returns false. */
export async function scan(
  disk: Disk,
  range: DiskRange,
  each: (key: string, value: Buffer) => boolean,
  snapshot?: DiskSnapshot,
): Promise<void> {
  const iterator = disk.iterator({ ...range, highWaterMarkBytes: STEP_BYTES, ...(snapshot && { snapshot }) });
  try {
    for (;;) {
      const entries = await iterator.nextv(STEP_ENTRIES);
      if (entries.length === 0) return;
      for (const [key, value] of entries) if (!each(key, value)) return;
    }
  } finally {
    await iterator.close();
  }
}
