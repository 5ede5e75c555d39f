/** How full the disk is (D11): writes are refused with a code before the disk refuses them. */
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { ErrorCode } from '@isochron/core';
import { ASIDE } from './data-folder.js';
import { codeOfSystemError } from './system-error.js';

const INTERVAL_MS = 500;

export interface DiskLimits {
  /** Bytes that the data folder may take; 0 for no quota. */
  readonly diskQuotaBytes: number;
  /** Bytes that must stay free on the file system. */
  readonly minFreeDiskBytes: number;
}

export class DiskWatch {
  #usedBytes = 0;
  #freeBytes = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #measuring = false;

  constructor(
    readonly folder: string,
    readonly limits: DiskLimits,
    readonly onError: (error: unknown) => void,
  ) {}

  /** Bytes in the data folder, as last measured. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Why new writes must be refused now. */
  get refusal(): ErrorCode | undefined {
    const { diskQuotaBytes, minFreeDiskBytes } = this.limits;
    const full = (diskQuotaBytes > 0 && this.#usedBytes > diskQuotaBytes) || this.#freeBytes < minFreeDiskBytes;
    return full ? 'STORAGE_FULL' : undefined;
  }

  async start(): Promise<void> {
    await this.measure();
    this.#timer = setInterval(() => void this.measure(), INTERVAL_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Measures now; a measurement that runs already is not joined by another. */
  async measure(): Promise<void> {
    if (this.#measuring) return;
    this.#measuring = true;
    try {
      const { bavail, bsize } = await statfs(this.folder);
      this.#freeBytes = bavail * bsize;
      if (this.limits.diskQuotaBytes > 0) this.#usedBytes = await bytesBelow(this.folder);
    } catch (error) {
      this.onError(error);
    } finally {
      this.#measuring = false;
    }
  }
}

/** Bytes of all files below a folder. A file that goes away meanwhile counts nothing, nor do data that were set aside. */
async function bytesBelow(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = names.filter((name) => !name.startsWith(ASIDE)).map((name) => sizeOf(join(folder, name)));
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

async function sizeOf(file: string): Promise<number> {
  try {
    const found = await stat(file);
    return found.isFile() ? found.size : 0;
  } catch (error) {
    if (codeOfSystemError(error) === 'ENOENT') return 0;
    throw error;
  }
}
