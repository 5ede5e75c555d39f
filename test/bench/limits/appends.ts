/**
 * Durable appends of random records, in groups, by one of three ways: a bare file, the durable log, a synced LevelDB
 * batch.
 */
import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openLogIn } from '@isochron/storage/wal/segment-log';
import { ClassicLevel } from 'classic-level';
import { answerJobs } from '../jobs.js';
import { runWindow } from '../load/window.js';
import type { Load } from '../rounds.js';
import { GroupCommit } from './group-commit.js';

export interface AppendJob {
  readonly way: 'file' | 'log' | 'leveldb';
  /** Folder of the data; removed afterwards. */
  readonly location: string;
  /** Loops that append one record after the other, each when the one before is durable. */
  readonly committers: number;
  readonly recordBytes: number;
  readonly durationMs: number;
}

/** Appends one record; resolves when it is durable. */
type Append = (record: Buffer) => Promise<unknown>;

/** The source of records: bytes that do not compress. */
const POOL = randomBytes(2 ** 20);
/** Records between two truncations of the log, as between two checkpoints. */
const CUT_EVERY = 20_000;
/** Number of keys of the records in LevelDB. */
const KEYS = 40_000;

answerJobs<AppendJob, Load>(async ({ way, location, committers, recordBytes, durationMs }) => {
  await mkdir(location, { recursive: true });
  const { append, close } = await WAYS[way](location);
  let next = 0;
  try {
    return await runWindow(committers, durationMs, () => {
      const from = (next++ * 331) % (POOL.length - recordBytes);
      return append(POOL.subarray(from, from + recordBytes));
    });
  } finally {
    await close();
    await rm(location, { recursive: true });
  }
});

const WAYS: Readonly<
  Record<AppendJob['way'], (location: string) => Promise<{ append: Append; close: () => Promise<unknown> }>>
> = {
  file: async (location) => {
    const file = await open(join(location, 'records'), 'w');
    const group = new GroupCommit<Buffer>(appender(file));
    return { append: (record) => group.put(record), close: () => file.close() };
  },
  log: async (location) => {
    const log = await openLogIn(location);
    let appended = 0;
    const append: Append = async (record) => {
      const position = await log.append([record]);
      if (++appended % CUT_EVERY === 0) await log.cut(position);
    };
    return { append, close: () => log.close() };
  },
  leveldb: async (location) => {
    const db = new ClassicLevel<string, Buffer>(location, { keyEncoding: 'utf8', valueEncoding: 'buffer' });
    await db.open();
    let next = 0;
    const group = new GroupCommit<Buffer>((records) => {
      const batch = db.batch();
      for (const record of records) batch.put(`default/key-${next++ % KEYS}`, record);
      return batch.write({ sync: true });
    });
    return { append: (record) => group.put(record), close: () => db.close() };
  },
};

/** One write and one sync for each group. */
function appender(file: FileHandle): (records: readonly Buffer[]) => Promise<void> {
  let offset = 0;
  return async (records) => {
    const bytes = Buffer.concat(records);
    await file.write(bytes, 0, bytes.length, offset);
    offset += bytes.length;
    await file.datasync();
  };
}
