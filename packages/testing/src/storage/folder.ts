/** Folders for tests that do not depend on a real disk. */
import { mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Linux's file system in memory. */
const IN_MEMORY = '/dev/shm';
/** Containers may have a small one. */
const ENOUGH_BYTES = 2 ** 30;

/** Makes an empty folder: in memory if the system has room for it, where a sync costs next to nothing. */
export async function testFolder(name: string): Promise<string> {
  const { bavail, bsize } = await statfs(IN_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  return mkdtemp(join(bavail * bsize >= ENOUGH_BYTES ? IN_MEMORY : tmpdir(), `isochron-${name}-`));
}
