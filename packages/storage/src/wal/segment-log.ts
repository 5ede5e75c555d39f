/** A durable log in the files of one folder: segments, each of which goes on where the one before ends. */
import { randomInt } from 'node:crypto';
import { IsochronError, invariant } from '@isochron/core';
import { CorruptRecord, cannotOpen, storageFailed } from '../failure.js';
import type { DurableLog, LogSlice, Position } from './durable-log.js';
import type { LogFile, LogFolder } from './files.js';
import { encodeFrame, encodeSegmentHeader, FORMAT, frameBytes, SEGMENT_HEADER_BYTES } from './frame.js';
import { openLogFolder } from './node-files.js';
import {
  isSegment,
  isUnfinished,
  logDamage,
  openSegmentHeader,
  scanSegment,
  segmentName,
  unfinishedName,
} from './segment.js';

/** How to open a log. */
export interface SegmentLogOptions {
  /** A segment that has this many bytes is followed by a new one. 16 MiB unless given. A cut frees whole segments. */
  readonly segmentBytes?: number | undefined;
  /**
   * Whether an append waits for the disk; true unless given. Without it an append survives the process, but not the
   * machine.
   */
  readonly sync?: boolean | undefined;
}

const SEGMENT_BYTES = 16 * 1024 * 1024;
/** Waiting appends share one frame of about this many bytes. */
const FRAME_BYTES = 4 * 1024 * 1024;
const MAX_BATCH_BYTES = 2 ** 30;
/** The buffer for frames that is kept between writes. */
const BUFFER_BYTES = 256 * 1024;

/**
 * Opens the log in a folder of the file system, or creates it. The caller must hold a lock that keeps other processes
 * out.
 * @throws IsochronError as {@link openSegmentLog}; `STORAGE_FAILED`, with advice, when the folder cannot be used
 */
export async function openLogIn(location: string, options: SegmentLogOptions = {}): Promise<DurableLog> {
  let folder: LogFolder;
  try {
    folder = await openLogFolder(location, options.sync ?? true);
  } catch (error) {
    throw cannotOpen(location, error);
  }
  return await openSegmentLog(folder, options);
}

/**
 * Opens the log in a folder, or creates it. Cuts off an append that was not durable, and makes the rest durable.
 * @throws IsochronError `STORAGE_FAILED`, `STORAGE_FULL`; of class `CorruptRecord` when the newest segment, or the
 * header of another, is damaged. Damage further back is found by `read`
 */
export async function openSegmentLog(folder: LogFolder, options: SegmentLogOptions = {}): Promise<DurableLog> {
  try {
    const segments = await segmentsIn(folder);
    const newest = segments.at(-1);
    const active =
      newest === undefined ? await createSegment(folder, 0, random()) : await recoverSegment(folder, newest);
    if (newest === undefined) segments.push(active);
    return new SegmentLog(folder, segments, active, options);
  } catch (error) {
    throw storageFailed('Cannot open the log', error);
  }
}

interface Segment {
  readonly name: string;
  readonly first: Position;
}

/** The segment for new records. All but its file and salt moves with each frame. */
interface ActiveSegment extends Segment {
  readonly file: LogFile;
  readonly salt: number;
  /** Bytes that are durable. */
  size: number;
  chain: number;
  /** Of the next record. */
  position: Position;
}

/** The segments, oldest first. Removes an unfinished one that a crash has left. */
async function segmentsIn(folder: LogFolder): Promise<Segment[]> {
  const names = await folder.list();
  for (const name of names.filter(isUnfinished)) await folder.remove(name);
  return names
    .filter(isSegment)
    .sort()
    .map((name) => ({ name, first: Number.parseInt(name, 10) }));
}

/**
 * Makes a segment, durable before it has its name: an incomplete header is damage. The folder's sync comes last, so
 * that no record is in a file whose name may be lost.
 */
async function createSegment(folder: LogFolder, first: Position, chain: number): Promise<ActiveSegment> {
  const name = segmentName(first);
  const salt = random();
  const file = await folder.create(unfinishedName(name));
  try {
    await file.write(encodeSegmentHeader({ format: FORMAT, first, salt, chain }), 0);
    await file.sync();
    await folder.rename(unfinishedName(name), name);
    await folder.sync();
  } catch (error) {
    await file.close();
    throw error;
  }
  return { name, first, file, salt, size: SEGMENT_HEADER_BYTES, chain, position: first };
}

/** Opens the newest segment for writing. */
async function recoverSegment(folder: LogFolder, { name, first }: Segment): Promise<ActiveSegment> {
  const file = await folder.open(name);
  try {
    const bytes = await file.read(0, await file.size());
    const { salt } = openSegmentHeader(name, bytes);
    const { offset, position, chain, lastFrame } = scanSegment(name, bytes, true, Infinity, ignore);
    if (offset < bytes.length) await file.truncate(offset);
    // The last frame may be in the operating system's memory alone, even if it looks durable: its sync may have failed.
    if (lastFrame !== undefined) await file.write(bytes.subarray(lastFrame, offset), lastFrame);
    await file.sync();
    await folder.sync();
    return { name, first, file, salt, size: offset, chain, position };
  } catch (error) {
    await file.close();
    throw error;
  }
}

const random = (): number => randomInt(2 ** 32);

const ignore = (): void => undefined;

/** One call of `append`. */
interface Append {
  readonly records: readonly Uint8Array[];
  readonly bytes: number;
  readonly resolve: (first: Position) => void;
  readonly reject: (error: unknown) => void;
}

class SegmentLog implements DurableLog {
  readonly #folder: LogFolder;
  readonly #segmentBytes: number;
  readonly #sync: boolean;
  /** Oldest first; the last one is the active one. */
  readonly #segments: Segment[];
  #active: ActiveSegment;
  #queue: Append[] = [];
  /** Settles when no append waits. */
  #writing: Promise<void> | undefined;
  /** Reads and cuts take turns: a cut would remove files that are being read. */
  #lastTurn: Promise<unknown> = Promise.resolve();
  #buffer: Buffer = Buffer.alloc(0);
  #failure: IsochronError | undefined;
  #closed: Promise<void> | undefined;

  constructor(folder: LogFolder, segments: Segment[], active: ActiveSegment, options: SegmentLogOptions) {
    this.#folder = folder;
    this.#segments = segments;
    this.#active = active;
    this.#segmentBytes = options.segmentBytes ?? SEGMENT_BYTES;
    this.#sync = options.sync ?? true;
  }

  get first(): Position {
    return this.#segments[0]!.first;
  }

  get end(): Position {
    return this.#active.position;
  }

  append(records: readonly Uint8Array[]): Promise<Position> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    const bytes = records.reduce((sum, { length }) => sum + length, 0);
    invariant(bytes <= MAX_BATCH_BYTES, 'an append to the log is at most 1 GiB');
    const done = new Promise<Position>((resolve, reject) => {
      this.#queue.push({ records, bytes, resolve, reject });
    });
    this.#writing ??= this.#write();
    return done;
  }

  /** Each slice is the rest of a segment. */
  async *read(from: Position): AsyncGenerator<LogSlice> {
    for (let first = from; ; ) {
      if (this.#closed !== undefined) throw closedError();
      const records: Uint8Array[] = [];
      const damage = await this.#turn(() => this.#readInto(records, first)).catch((error: unknown) => error);
      if (records.length > 0) yield { first, records };
      if (damage !== undefined) throw storageFailed('Cannot read the log', damage);
      if (records.length === 0) return;
      first += records.length;
    }
  }

  cut(below: Position): Promise<void> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    return this.#turn(async () => {
      try {
        await this.#cut(below);
      } catch (error) {
        throw this.#fail('Cannot cut the log', error);
      }
    });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    // Appends, reads and cuts report their failures to their callers.
    await this.#writing;
    await this.#lastTurn.catch(ignore);
    if (!this.#sync && this.#failure === undefined) await this.#active.file.sync();
    await this.#active.file.close();
  }

  #refusal(): IsochronError | undefined {
    return this.#failure ?? (this.#closed && closedError());
  }

  /** After the first failure memory and disk may differ: nothing more is written. */
  #fail(what: string, error: unknown): IsochronError {
    this.#failure ??= storageFailed(what, error);
    return this.#failure;
  }

  #turn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work, work);
    this.#lastTurn = turn;
    return turn;
  }

  // Writing.

  /** One frame after the other. */
  async #write(): Promise<void> {
    // Appends in the same tick share the first frame.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const group = this.#nextGroup();
      let first = this.#active.position;
      try {
        if (this.#failure !== undefined) throw this.#failure;
        await this.#writeFrame(group);
      } catch (error) {
        const failure = this.#fail('Cannot write to the log', error);
        for (const { reject } of group) reject(failure);
        continue;
      }
      for (const { records, resolve } of group) {
        resolve(first);
        first += records.length;
      }
    }
    this.#writing = undefined;
  }

  /** The waiting appends, up to the size of a frame, and at least one. */
  #nextGroup(): Append[] {
    let [count, bytes] = [0, 0];
    while (count < this.#queue.length && (count === 0 || bytes < FRAME_BYTES)) bytes += this.#queue[count++]!.bytes;
    return this.#queue.splice(0, count);
  }

  async #writeFrame(group: readonly Append[]): Promise<void> {
    const records = group.length === 1 ? group[0]!.records : group.flatMap((append) => append.records);
    if (records.length === 0) return;
    if (this.#active.size >= this.#segmentBytes) await this.#roll();
    const active = this.#active;
    const bytes = group.reduce((sum, append) => sum + append.bytes, 0);
    const frame = this.#frameBuffer(frameBytes(records.length, bytes));
    const { salt, size: offset, chain, position } = active;
    const nextChain = encodeFrame(frame, records, { salt, offset, chain, position });
    if (this.#sync) await active.file.writeDurably(frame, offset);
    else await active.file.write(frame, offset);
    active.size += frame.length;
    active.chain = nextChain;
    active.position += records.length;
  }

  /** One write is on its way at a time, so that they share a buffer. */
  #frameBuffer(bytes: number): Buffer {
    if (bytes > BUFFER_BYTES) return Buffer.allocUnsafeSlow(bytes);
    if (this.#buffer.length === 0) this.#buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
    return this.#buffer.subarray(0, bytes);
  }

  async #roll(): Promise<void> {
    const { position, chain, file } = this.#active;
    if (!this.#sync) await file.sync();
    const active = await createSegment(this.#folder, position, chain);
    this.#segments.push(active);
    this.#active = active;
    await file.close();
  }

  // Reading and cutting.

  /** Adds the durable records of one segment, from a position on: none at the end of the log. */
  async #readInto(records: Uint8Array[], from: Position): Promise<void> {
    // The durable part: an append may be writing, and may begin a segment meanwhile.
    const { size, position: end } = this.#active;
    if (from < this.first || from > end)
      throw new CorruptRecord(null, 'missing', `The log holds positions ${this.first} to ${end}, and not ${from}`);
    if (from === end) return;
    const i = this.#segments.findLastIndex(({ first }) => first <= from);
    const [{ name }, next] = [this.#segments[i]!, this.#segments[i + 1]];
    const bytes = await readFile(this.#folder, name, next === undefined ? size : undefined);
    const found = scanSegment(name, bytes, false, from, (record) => records.push(record));
    const following = next === undefined ? { first: end, chain: found.chain } : await this.#headerOf(next);
    if (found.position !== following.first || found.chain !== following.chain)
      throw logDamage(name, found.offset, 'missing', `the records before position ${following.first} are not there`);
  }

  async #headerOf({ name }: Segment) {
    return openSegmentHeader(name, await readFile(this.#folder, name, SEGMENT_HEADER_BYTES));
  }

  async #cut(below: Position): Promise<void> {
    while (this.#segments.length > 1 && this.#segments[1]!.first <= below) {
      await this.#folder.remove(this.#segments[0]!.name);
      // Before the next one is removed: a crash must not leave the older one of two.
      await this.#folder.sync();
      this.#segments.shift();
    }
  }
}

/** Reads a file from its beginning, up to a size or as a whole. */
async function readFile(folder: LogFolder, name: string, size?: number): Promise<Buffer> {
  const file = await folder.open(name);
  try {
    const present = await file.size();
    if (size !== undefined && present < size)
      throw logDamage(name, present, 'truncated', `it has ${size} bytes or more`);
    return await file.read(0, size ?? present);
  } finally {
    await file.close();
  }
}

const closedError = (): IsochronError => new IsochronError('STORAGE_FAILED', 'The log is closed', { retryable: false });
