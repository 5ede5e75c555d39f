/**
 * How full the disk is (D11): writes are refused with a code before the disk refuses them. When another program takes
 * the remaining space at once, a reserve is released: a node has to write a little even to refuse writes.
 */
import { rmSync } from 'node:fs';
import { open, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { ErrorCode } from '@isochron/core';
import type { DiskStatus } from './api.js';
import { ASIDE } from './data-folder.js';
import { codeOfSystemError } from './system-error.js';

const INTERVAL_MS = 500;
/** Without a quota the data folder is measured for the metrics only, once in this number of intervals. */
const INTERVALS_WITHOUT_QUOTA = 20;

/** File in the data folder, and its size: enough for a node to write for long while it refuses writes. */
const RESERVE = 'reserve';
const RESERVE_BYTES = 32 * 2 ** 20;
const CHUNK_BYTES = 2 ** 20;
/**
 * Free bytes with which a store can be opened again: LevelDB rewrites the content of its log file, and then frees that.
 */
const RESTART_BYTES = 16 * 2 ** 20;

export interface DiskLimits {
  /** Bytes that the data folder may take; 0 for no quota. */
  readonly diskQuotaBytes: number;
  /** Bytes that must stay free on the file system. */
  readonly minFreeDiskBytes: number;
}

export class DiskWatch {
  #usedBytes = 0;
  #freeBytes = Number.POSITIVE_INFINITY;
  #refusedWrites = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #measured = 0;
  #reserved = false;
  /** The reserve was released: writes are refused until there is room for a new reserve. */
  #spent = false;
  #roomFor: (() => void) | undefined;

  constructor(
    readonly folder: string,
    readonly limits: DiskLimits,
    readonly onError: (error: unknown) => void,
  ) {}

  get status(): DiskStatus {
    return {
      full: this.#refuses,
      usedBytes: this.#usedBytes,
      freeBytes: Number.isFinite(this.#freeBytes) ? this.#freeBytes : null,
      quotaBytes: this.limits.diskQuotaBytes,
      refusedWrites: this.#refusedWrites,
    };
  }

  /** The code that a write must be refused with now, if any; it is counted as refused then. */
  refuse(): ErrorCode | undefined {
    if (!this.#refuses) return undefined;
    this.#refusedWrites++;
    return 'STORAGE_FULL';
  }

  /** A node that has cut itself off refuses before the next measurement, too. */
  get #refuses(): boolean {
    return this.#isFull || this.#roomFor !== undefined;
  }

  get #isFull(): boolean {
    const { diskQuotaBytes, minFreeDiskBytes } = this.limits;
    return (
      this.#spent || (diskQuotaBytes > 0 && this.#usedBytes > diskQuotaBytes) || this.#freeBytes < minFreeDiskBytes
    );
  }

  async start(): Promise<void> {
    this.#reserved = await hasReserve(this.folder);
    await this.#measure();
    this.#timer = setInterval(() => void this.#look(), INTERVAL_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  /** Releases the reserve. Returns whether the node had a reserve. */
  release(): boolean {
    const released = this.#reserved && releaseReserve(this.folder);
    this.#reserved = false;
    this.#spent = released;
    return released;
  }

  /** Resolves once there is room for writes. Until then the disk counts as full. */
  room(): Promise<void> {
    return new Promise((resolve) => {
      this.#roomFor = resolve;
    });
  }

  /** The reserve is made here, not at the start of the node, so that the node serves soon. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookAfter().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookAfter(): Promise<void> {
    await this.#measure();
    const isSpare = this.#freeBytes - this.limits.minFreeDiskBytes >= RESERVE_BYTES;
    if (isSpare && !this.#reserved) this.#reserved = await makeReserve(this.folder).catch(this.#failed);
    if (this.#reserved) this.#spent = false;
    if (!this.#isFull && this.#freeBytes >= RESTART_BYTES) this.#roomFor?.();
  }

  async #measure(): Promise<void> {
    try {
      const { bavail, bsize } = await statfs(this.folder);
      this.#freeBytes = bavail * bsize;
      if (this.limits.diskQuotaBytes > 0 || this.#measured++ % INTERVALS_WITHOUT_QUOTA === 0)
        this.#usedBytes = await bytesBelow(this.folder);
    } catch (error) {
      this.onError(error);
    }
  }

  readonly #failed = (error: unknown): false => {
    this.onError(error);
    return false;
  };
}

/** Releases the reserve of a data folder. Returns whether the folder had a reserve. */
export function releaseReserve(folder: string): boolean {
  try {
    rmSync(join(folder, RESERVE));
    return true;
  } catch (error) {
    if (codeOfSystemError(error) === 'ENOENT') return false;
    throw error;
  }
}

const hasReserve = async (folder: string): Promise<boolean> => (await sizeOf(join(folder, RESERVE))) >= RESERVE_BYTES;

/** Makes the reserve, if there is room. Its bytes are random: some file systems allocate no space for zeros. */
async function makeReserve(folder: string): Promise<boolean> {
  const path = join(folder, RESERVE);
  const chunk = crypto.getRandomValues(new Uint8Array(65_536));
  const file = await open(path, 'w', 0o600);
  try {
    const bytes = Buffer.alloc(CHUNK_BYTES, chunk);
    for (let done = 0; done < RESERVE_BYTES; done += CHUNK_BYTES) await file.write(bytes);
    return true;
  } catch {
    await rm(path, { force: true }); // another program took the space first
    return false;
  } finally {
    await file.close();
  }
}

/** Not counted: data that were set aside, and the reserve. */
const isCounted = (name: string): boolean => !name.startsWith(ASIDE) && name !== RESERVE;

/** Bytes of all files below a folder. A file that is removed meanwhile counts as 0. */
async function bytesBelow(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = names.filter(isCounted).map((name) => sizeOf(join(folder, name)));
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
