/** The file layer on the file system. */
import { constants, fdatasync, write } from 'node:fs';
import { type FileHandle, open, readdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../folder.js';
import type { LogFile, LogFolder } from './files.js';

/** Only the user of the node reads its data. */
const MODE = 0o600;
/**
 * With `O_DSYNC` a write returns when it is durable: one trip to another thread instead of two. Some systems do not
 * have it.
 */
const { O_CREAT, O_DSYNC = 0, O_EXCL, O_RDWR } = constants;

/**
 * Opens a folder; makes it and those above it if they are missing. With `durable`, every write of its files is durable.
 */
export async function openLogFolder(location: string, durable: boolean): Promise<LogFolder> {
  await makeFolder(location);
  return new NodeFolder(location, durable ? O_DSYNC : 0);
}

class NodeFolder implements LogFolder {
  constructor(
    readonly location: string,
    readonly flags: number,
  ) {}

  list(): Promise<string[]> {
    return readdir(this.location);
  }

  async create(name: string): Promise<LogFile> {
    return new NodeFile(
      await open(join(this.location, name), O_CREAT | O_EXCL | O_RDWR | this.flags, MODE),
      this.flags !== 0,
    );
  }

  async open(name: string): Promise<LogFile> {
    return new NodeFile(await open(join(this.location, name), O_RDWR | this.flags), this.flags !== 0);
  }

  rename(from: string, to: string): Promise<void> {
    return rename(join(this.location, from), join(this.location, to));
  }

  remove(name: string): Promise<void> {
    return unlink(join(this.location, name));
  }

  async sync(): Promise<void> {
    const folder = await open(this.location, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

class NodeFile implements LogFile {
  constructor(
    readonly handle: FileHandle,
    /** Whether a write is durable when it returns. */
    readonly isDurable: boolean,
  ) {}

  async size(): Promise<number> {
    return (await this.handle.stat()).size;
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; ) {
      const { bytesRead } = await this.handle.read(bytes, done, length - done, offset + done);
      if (bytesRead === 0) throw new Error(`the file ends at ${offset + done}, before ${offset + length}`);
      done += bytesRead;
    }
    return bytes;
  }

  // By callbacks: every commit comes here, and the promises of a file handle cost a multiple.

  write(bytes: Uint8Array, offset: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const rest = (done: number): void => {
        write(this.handle.fd, bytes, done, bytes.length - done, offset + done, (error, written) => {
          if (error !== null) reject(error);
          else if (done + written < bytes.length) rest(done + written);
          else resolve();
        });
      };
      rest(0);
    });
  }

  async writeDurably(bytes: Uint8Array, offset: number): Promise<void> {
    await this.write(bytes, offset);
    if (!this.isDurable) await this.sync();
  }

  truncate(size: number): Promise<void> {
    return this.handle.truncate(size);
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.handle.fd, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
