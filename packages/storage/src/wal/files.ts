/** The file system of a log: one folder, without folders in it. */

/** A folder of files. Names of files are durable after `sync` only, also removals and renames. */
export interface LogFolder {
  /** Names of the files, in no order. */
  list(): Promise<string[]>;
  /** Makes an empty file and opens it. It must not be there. */
  create(name: string): Promise<LogFile>;
  /** Opens an existing file. */
  open(name: string): Promise<LogFile>;
  /** Gives a file another name, in one step. No file may have it. */
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Makes the present names durable. */
  sync(): Promise<void>;
}

/** An open file, for reading and writing. Offsets and sizes are in bytes. */
export interface LogFile {
  size(): Promise<number>;
  /** Reads a range that the file must hold. */
  read(offset: number, length: number): Promise<Buffer>;
  /** Writes all of the bytes, which must not change meanwhile. After a failure any part of them may be in the file. */
  write(bytes: Uint8Array, offset: number): Promise<void>;
  /**
   * As `write` and `sync` together: an append is one operation of the disk. After a failure any part of the bytes may
   * be in the file, durable or not.
   */
  writeDurably(bytes: Uint8Array, offset: number): Promise<void>;
  /** Cuts the file off. */
  truncate(size: number): Promise<void>;
  /**
   * Makes the written bytes and the size durable. After a failure the bytes may be readable and yet never become
   * durable, even if a later sync succeeds: they must be written again.
   */
  sync(): Promise<void>;
  close(): Promise<void>;
}
