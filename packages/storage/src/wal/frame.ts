/**
 * Frames and the headers of segments, as bytes. Numbers are little-endian.
 *
 * A frame is the content of one write to disk: the records of one or several appends. The next frame is written when
 * this one is durable, so at most the last frame of a log is incomplete.
 *
 *     frame   mark · CRC of the rest of the header (4) · CRC of the body (4) · position of the first record (6) ·
 *             records (4) · bytes of the body (4) · sectors of nothing but zeros (4) · mark · body
 *     body    for each record its length (4) and its bytes; then a mark
 *     segment CRC of the rest (4) · format (1) · position of the first record (6) · salt (4) · chain (4) · "ISLOG"
 *
 * The header's CRC starts from the segment's salt and the frame's offset: a record that holds the copy of a frame is
 * never taken for one. The body's CRC starts from that of the frame before, and the next segment repeats the last one
 * (its chain).
 */
import { crc32 } from '../crc32.js';
import type { Position } from './durable-log.js';

/** Not zero, so that a byte that was not written is told from it. */
const MARK = 0xb7;
export const FRAME_HEADER_BYTES = 28;
const CRC_AT = 1;
const CHECKED_FROM = 5;
const LAST_MARK_AT = FRAME_HEADER_BYTES - 1;
const LENGTH_BYTES = 4;
/** A disk writes a sector as a whole or not at all. */
const SECTOR_BYTES = 512;

/** Number of the format. Its place and the checksum's stay where they are in every format. */
export const FORMAT = 1;
export const SEGMENT_HEADER_BYTES = 24;
const MAGIC = Buffer.from('ISLOG');

/** The beginning of a segment. */
export interface SegmentHeader {
  readonly format: number;
  readonly first: Position;
  /** Random, so that no record can look like a frame. */
  readonly salt: number;
  /** The CRC of the last body before the segment. Random at the beginning of a log: no other log's segment fits. */
  readonly chain: number;
}

export function encodeSegmentHeader({ format, first, salt, chain }: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
  bytes[4] = format;
  bytes.writeUIntLE(first, 5, 6);
  bytes.writeUInt32LE(salt, 11);
  bytes.writeUInt32LE(chain, 15);
  MAGIC.copy(bytes, 19);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

/** Undefined when the bytes are no header of a segment. */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader | undefined {
  if (bytes.length < SEGMENT_HEADER_BYTES) return undefined;
  const checked = bytes.subarray(4, SEGMENT_HEADER_BYTES);
  if (bytes.readUInt32LE(0) !== crc32(checked) || !MAGIC.equals(checked.subarray(15))) return undefined;
  return {
    format: checked[0]!,
    first: checked.readUIntLE(1, 6),
    salt: checked.readUInt32LE(7),
    chain: checked.readUInt32LE(11),
  };
}

/** The place of a frame that is to be written. */
export interface FramePlace {
  readonly salt: number;
  /** In the segment's file. */
  readonly offset: number;
  readonly chain: number;
  /** Of the first record. */
  readonly position: Position;
}

/** Size of a frame whose records have this many bytes in all. */
export const frameBytes = (records: number, bytes: number): number =>
  FRAME_HEADER_BYTES + records * LENGTH_BYTES + bytes + 1;

/** Fills a buffer that has exactly the frame's size. Returns the CRC of the body, from which the next frame goes on. */
export function encodeFrame(frame: Buffer, records: readonly Uint8Array[], place: FramePlace): number {
  let at = FRAME_HEADER_BYTES;
  for (const record of records) {
    at = frame.writeUInt32LE(record.length, at);
    frame.set(record, at);
    at += record.length;
  }
  frame[at] = MARK;
  const chain = crc32(frame.subarray(FRAME_HEADER_BYTES), place.chain);
  frame[0] = MARK;
  frame.writeUInt32LE(chain, 5);
  frame.writeUIntLE(place.position, 9, 6);
  frame.writeUInt32LE(records.length, 15);
  frame.writeUInt32LE(frame.length - FRAME_HEADER_BYTES, 19);
  frame[LAST_MARK_AT] = MARK;
  frame.writeUInt32LE(emptySectors(frame, 0, frame.length, place.offset), 23);
  frame.writeUInt32LE(headerCrc(frame, 0, place.salt, place.offset), CRC_AT);
  return chain;
}

const headerCrc = (bytes: Buffer, at: number, salt: number, offset: number): number =>
  crc32(bytes.subarray(at + CHECKED_FROM, at + FRAME_HEADER_BYTES), (salt + offset) >>> 0);

/** The header of a frame that was read. */
export interface FrameHeader {
  readonly chain: number;
  readonly position: Position;
  readonly records: number;
  /** Offset behind the frame. */
  readonly end: number;
  readonly emptySectors: number;
}

/** The header at an offset of a segment's bytes; undefined when there is no header. */
export function decodeFrameHeader(bytes: Buffer, at: number, salt: number): FrameHeader | undefined {
  if (at + FRAME_HEADER_BYTES > bytes.length || bytes[at] !== MARK || bytes[at + LAST_MARK_AT] !== MARK)
    return undefined;
  if (bytes.readUInt32LE(at + CRC_AT) !== headerCrc(bytes, at, salt, at)) return undefined;
  return {
    chain: bytes.readUInt32LE(at + 5),
    position: bytes.readUIntLE(at + 9, 6),
    records: bytes.readUInt32LE(at + 15),
    end: at + FRAME_HEADER_BYTES + bytes.readUInt32LE(at + 19),
    emptySectors: bytes.readUInt32LE(at + 23),
  };
}

/** Whether the body of a frame is whole, after a body with the CRC `chain`. */
export function isWhole(bytes: Buffer, at: number, { end, chain }: FrameHeader, before: number): boolean {
  return end <= bytes.length && crc32(bytes.subarray(at + FRAME_HEADER_BYTES, end), before) === chain;
}

/** The records of a whole frame. They share the memory of the bytes. */
export function* recordsIn(bytes: Buffer, at: number, records: number): Generator<Uint8Array> {
  let from = at + FRAME_HEADER_BYTES;
  for (let i = 0; i < records; i++) {
    const start = from + LENGTH_BYTES;
    from = start + bytes.readUInt32LE(from);
    yield bytes.subarray(start, from);
  }
}

/**
 * Whether a part of a frame did not reach the disk. The lost part of an append is absent or zeros: from some byte on,
 * or any of its sectors. Flipped bits look otherwise, as each frame begins and ends with a mark and counts its empty
 * sectors.
 */
export function isTorn(bytes: Buffer, at: number, end: number, emptySectorsWritten: number): boolean {
  if (end > bytes.length || bytes[end - 1] === 0) return true;
  return emptySectors(bytes, at, end, at) > emptySectorsWritten;
}

/**
 * Number of empty sectors in a range, which may begin and end inside a sector. `offset` is that of `from` in the file.
 */
function emptySectors(bytes: Buffer, from: number, end: number, offset: number): number {
  let count = 0;
  for (let at = from; at < end; ) {
    const next = Math.min(end, at + SECTOR_BYTES - ((offset + at - from) % SECTOR_BYTES));
    if (isZeros(bytes, at, next)) count++;
    at = next;
  }
  return count;
}

export function isZeros(bytes: Uint8Array, from: number, end: number): boolean {
  for (let at = from; at < end; at++) if (bytes[at] !== 0) return false;
  return true;
}
