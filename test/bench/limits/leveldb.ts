/** The bare limit of durable commits: LevelDB, one synced batch in flight while the next fills. */
import { ClassicLevel } from 'classic-level';
import { answerJobs } from '../jobs.js';
import { type ValueRule, valueFor, WRITERS } from '../load/values.js';
import { runWindow } from '../load/window.js';
import type { Load } from '../rounds.js';
import { GroupCommit } from './group-commit.js';

export interface LevelJob {
  /** Folder of the database. */
  readonly location: string;
  /** Loops that put one record after the other, each when the previous one is durable. */
  readonly committers: number;
  readonly values: ValueRule;
  readonly keys: number;
  readonly durationMs: number;
}

answerJobs<LevelJob, Load>(async ({ location, committers, values, keys, durationMs }) => {
  const db = new ClassicLevel<string, string>(location, { keyEncoding: 'utf8', valueEncoding: 'utf8' });
  await db.open();
  try {
    let next = 0;
    const group = new GroupCommit<string>((puts) => {
      const batch = db.batch();
      for (const key of puts) batch.put(key, valueFor(values, key, next % WRITERS));
      return batch.write({ sync: true });
    });
    return await runWindow(committers, durationMs, () => group.put(`default/key-${next++ % keys}`));
  } finally {
    await db.close();
  }
});
