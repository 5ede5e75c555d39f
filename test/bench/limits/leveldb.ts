/** The bare limit of durable commits: LevelDB, one synced batch in flight while the next fills. */
import { ClassicLevel } from 'classic-level';
import { answerJobs } from '../jobs.js';
import { runWindow } from '../load/window.js';
import type { Load } from '../rounds.js';
import { GroupCommit } from './group-commit.js';

export interface LevelJob {
  /** Folder of the database. */
  readonly location: string;
  /** Loops that put one record after the other, each when the one before is durable. */
  readonly committers: number;
  readonly valueBytes: number;
  readonly keys: number;
  readonly durationMs: number;
}

answerJobs<LevelJob, Load>(async ({ location, committers, valueBytes, keys, durationMs }) => {
  const db = new ClassicLevel<string, Buffer>(location, { keyEncoding: 'utf8', valueEncoding: 'buffer' });
  await db.open();
  try {
    const value = Buffer.alloc(valueBytes, '0');
    const group = new GroupCommit<string>((puts) => {
      const batch = db.batch();
      for (const key of puts) batch.put(key, value);
      return batch.write({ sync: true });
    });
    let next = 0;
    return await runWindow(committers, durationMs, () => group.put(`default/key-${next++ % keys}`));
  } finally {
    await db.close();
  }
});
