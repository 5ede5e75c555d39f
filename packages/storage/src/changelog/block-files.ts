/**
 * Files with the blocks of the log. A block is written once, behind the one before, and goes with its file: as a record
 * of LevelDB it would be written three to five times, and merged together with the heads.
 *
 * LevelDB holds the names of the blocks. A block is durable before its name is, and its file is removed after the name.
 * A file is written by one process alone: what a crash has left behind the last name is never read.
 */
import { join } from 'node:path';
import { CorruptRecord, cannotOpen, codeOf } from '../failure.js';
import type { BlockPlace } from '../level/disk-keys.js';
import type { LogFile, LogFolder } from '../wal/files.js';
import { openLogFolder } from '../wal/node-files.js';

/** Digits of a number, so that names sort by it. */
const DIGITS = 15;
const NAME = /^\d{15}\.blocks$/;

const fileName = (file: number): string => `${String(file).padStart(DIGITS, '0')}.blocks`;

/** Blocks wait for a write of this many bytes, in a buffer that is kept. */
const WRITE_BYTES = 256 * 1024;

/** The file that is written. */
interface ActiveFile {
  readonly number: number;
  readonly file: LogFile;
  size: number;
  /** Bytes that are durable. */
  persisted: number;
  /** Whether its name is durable. */
  isNamed: boolean;
}

/** How to open the files of blocks. */
export interface BlockFileOptions {
  /** A file that has this many bytes is followed by a new one. */
  readonly fileBytes: number;
  /** Whether a write waits for the disk. */
  readonly sync: boolean;
}

/** Opens the files in the folder `blocks` of a data folder, see {@link BlockFiles.open}. */
export async function openBlockFiles(
  location: string,
  places: readonly BlockPlace[],
  options: BlockFileOptions,
): Promise<BlockFiles> {
  const folder = join(location, 'blocks');
  try {
    return await BlockFiles.open(await openLogFolder(folder, false), places, options);
  } catch (error) {
    throw cannotOpen(folder, error);
  }
}

/** The files of blocks in one folder. Writes come one after the other. */
export class BlockFiles {
  readonly #folder: LogFolder;
  readonly #fileBytes: number;
  readonly #sync: boolean;
  /** Number of named blocks in each file. */
  readonly #blocks = new Map<number, number>();
  #next: number;
  #active: ActiveFile | undefined;
  /** Begins with blocks that the next write takes to the end of the active file. */
  #buffer = Buffer.alloc(0);
  #waitingBytes = 0;

  private constructor(folder: LogFolder, next: number, { fileBytes, sync }: BlockFileOptions) {
    this.#folder = folder;
    this.#next = next;
    this.#fileBytes = fileBytes;
    this.#sync = sync;
  }

  /**
   * Opens the files, and removes those without a named block.
   *
   * @param places those of all blocks that have a name
   * @throws CorruptRecord when the file of a block is missing
   */
  static async open(folder: LogFolder, places: readonly BlockPlace[], options: BlockFileOptions): Promise<BlockFiles> {
    const highest = places.reduce((most, { file }) => Math.max(most, file), 0);
    const files = new BlockFiles(folder, highest + 1, options);
    for (const place of places) files.named(place);
    const present = new Set((await folder.list()).filter((name) => NAME.test(name)));
    for (const file of files.#blocks.keys()) if (!present.delete(fileName(file))) throw missing(file);
    for (const name of present) await folder.remove(name);
    return files;
  }

  /** Adds a block, which the next `persist` makes durable. Returns its place. The bytes are copied. */
  add(bytes: Uint8Array): BlockPlace {
    const start = this.#waitingBytes;
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > this.#buffer.length) this.#grow(start);
    this.#buffer.set(bytes, start);
    const { number = this.#next, size = 0 } = this.#active ?? {};
    return { file: number, offset: size + start, length: bytes.length };
  }

  #grow(filled: number): void {
    const buffer = Buffer.allocUnsafeSlow(Math.max(WRITE_BYTES, 2 * this.#waitingBytes));
    this.#buffer.copy(buffer, 0, 0, filled);
    this.#buffer = buffer;
  }

  /** Whether the added blocks are enough for a write. */
  get isFull(): boolean {
    return this.#waitingBytes >= WRITE_BYTES / 2;
  }

  /** Makes the added blocks durable. After a failure nothing more may be written. */
  async persist(): Promise<void> {
    await this.write();
    const active = this.#active;
    if (active === undefined || active.persisted === active.size) return;
    if (this.#sync) await active.file.sync();
    if (this.#sync && !active.isNamed) await this.#folder.sync();
    active.isNamed = true;
    active.persisted = active.size;
    if (active.size >= this.#fileBytes) await this.#end();
  }

  /** Writes the added blocks. After a failure nothing more may be written. */
  async write(): Promise<void> {
    if (this.#waitingBytes === 0) return;
    this.#active ??= await this.#create();
    const bytes = this.#buffer.subarray(0, this.#waitingBytes);
    await this.#active.file.write(bytes, this.#active.size);
    this.#active.size += bytes.length;
    this.#waitingBytes = 0;
    if (this.#buffer.length > 2 * WRITE_BYTES) this.#buffer = Buffer.alloc(0);
  }

  /** LevelDB holds the name of a block. */
  named({ file }: BlockPlace): void {
    this.#blocks.set(file, (this.#blocks.get(file) ?? 0) + 1);
  }

  /** LevelDB does not hold the name of a block any more. */
  unnamed({ file }: BlockPlace): void {
    this.#blocks.set(file, this.#blocks.get(file)! - 1);
  }

  /** Removes files without a named block. */
  async removeUnused(): Promise<void> {
    for (const [file, count] of this.#blocks) {
      if (count > 0 || file === this.#active?.number) continue;
      this.#blocks.delete(file);
      await this.#folder.remove(fileName(file));
    }
  }

  /** The bytes of a block, as far as they are there; undefined without its file. */
  async read({ file, offset, length }: BlockPlace): Promise<Buffer | undefined> {
    const opened = await this.#folder.open(fileName(file)).catch(undefinedIfAbsent);
    if (opened === undefined) return undefined;
    try {
      const present = Math.max(0, (await opened.size()) - offset);
      return await opened.read(offset, Math.min(length, present));
    } finally {
      await opened.close();
    }
  }

  async close(): Promise<void> {
    if (!this.#sync) await this.#active?.file.sync();
    if (!this.#sync) await this.#folder.sync();
    await this.#active?.file.close();
    this.#active = undefined;
  }

  async #create(): Promise<ActiveFile> {
    const number = this.#next++;
    return { number, file: await this.#folder.create(fileName(number)), size: 0, persisted: 0, isNamed: false };
  }

  async #end(): Promise<void> {
    const { file } = this.#active!;
    this.#active = undefined;
    if (!this.#sync) await file.sync();
    await file.close();
  }
}

function undefinedIfAbsent(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}

function missing(file: number): CorruptRecord {
  return new CorruptRecord(null, 'missing', `The file blocks/${fileName(file)} with a part of the log is not there`);
}
