/** A file that fills a node's disk as far as its quota allows. */
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** The quota that all nodes run with: more than a run of hours writes. */
export const DISK_QUOTA_BYTES = 2 ** 33;
const NAME = 'ballast';

/** Uses up the whole quota. It has the size and no contents, so that the disk of this machine is not filled. */
export function fill(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const file = openSync(join(folder, NAME), 'w');
  try {
    ftruncateSync(file, DISK_QUOTA_BYTES);
  } finally {
    closeSync(file);
  }
}

export const free = (folder: string): void => rmSync(join(folder, NAME), { force: true });
