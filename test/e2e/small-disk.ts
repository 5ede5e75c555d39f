/**
 * Small disks that fill up: file systems in memory, of a few megabytes, mounted over data folders. Mounting needs root.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CHUNK = Buffer.alloc(2 ** 16, 1);
const mounted = new Set<string>();

function mount(folder: string, bytes: number): boolean {
  const options = `size=${bytes},mode=0700`;
  return spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status === 0;
}

const unmount = (folder: string): void => {
  spawnSync('umount', ['-l', folder]);
};

/** Whether this machine lets the tests mount file systems. */
export const canMount: boolean = (() => {
  const folder = mkdtempSync(join(tmpdir(), 'isochron-mount-'));
  try {
    const works = mount(folder, CHUNK.length);
    if (works) unmount(folder);
    return works;
  } finally {
    rmdirSync(folder);
  }
})();

/** Unmounts all of them. For `afterEach`, before their folders are deleted. */
export function unmountAll(): void {
  for (const folder of mounted) unmount(folder);
  mounted.clear();
}

/** A file system of its own for one folder. */
export class SmallDisk {
  readonly #file: string;

  constructor(
    readonly folder: string,
    bytes: number,
  ) {
    mkdirSync(folder, { recursive: true });
    if (!mount(folder, bytes)) throw new Error(`cannot mount a file system over ${folder}`);
    mounted.add(folder);
    this.#file = join(folder, 'file-of-another-owner');
  }

  /** Takes all the free space, to the last byte. Returns its size. */
  fill(): number {
    const file = openSync(this.#file, 'a');
    let bytes = 0;
    try {
      for (let length = CHUNK.length; length > 0; ) {
        try {
          bytes += writeSync(file, CHUNK, 0, length);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          length = Math.floor(length / 2);
        }
      }
      return bytes;
    } finally {
      closeSync(file);
    }
  }

  /** Frees the space that `fill` has taken. */
  free(): void {
    rmSync(this.#file, { force: true });
  }
}
