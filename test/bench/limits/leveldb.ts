/** The bare limit of durable commits: LevelDB, one synced batch in flight while the next fills. */
import { ClassicLevel } from 'classic-level';
import { answerJobs } from '../jobs.js';
import { runWindow } from '../load/window.js';
import type { Load } from '../rounds.js';

export interface LevelJob {
  /** Folder of the database. */
  readonly location: string;
  /** Loops that put one record after the other, each when the one before is durable. */
  readonly committers: number;
  readonly valueBytes: number;
  readonly keys: number;
  readonly durationMs: number;
}

/** What group commit is at its barest. */
class GroupCommit {
  #waiting: { readonly key: string; readonly done: () => void; readonly failed: (error: unknown) => void }[] = [];
  #writing = false;

  constructor(
    readonly db: ClassicLevel<string, Buffer>,
    readonly value: Buffer,
  ) {}

  put(key: string): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ key, done, failed });
      if (!this.#writing) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      const batch = this.db.batch();
      for (const { key } of group) batch.put(key, this.value);
      try {
        await batch.write({ sync: true });
        for (const { done } of group) done();
      } catch (error) {
        for (const { failed } of group) failed(error);
      }
    }
    this.#writing = false;
  }
}

answerJobs<LevelJob, Load>(async ({ location, committers, valueBytes, keys, durationMs }) => {
  const db = new ClassicLevel<string, Buffer>(location, { keyEncoding: 'utf8', valueEncoding: 'buffer' });
  await db.open();
  try {
    const group = new GroupCommit(db, Buffer.alloc(valueBytes, '0'));
    let next = 0;
    return await runWindow(committers, durationMs, () => group.put(`default/key-${next++ % keys}`));
  } finally {
    await db.close();
  }
});
