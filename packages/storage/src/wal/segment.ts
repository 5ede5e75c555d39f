/** The content of a segment: whole frames, then its end, a torn frame, or damage. */
import { CorruptRecord, type Damage, unknownFormat } from '../failure.js';
import type { Position } from './durable-log.js';
import {
  decodeFrameHeader,
  decodeSegmentHeader,
  FORMAT,
  FRAME_HEADER_BYTES,
  type FrameHeader,
  isTorn,
  isWhole,
  isZeros,
  recordsIn,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
} from './frame.js';

/** Digits of a position, so that names sort by it. */
const DIGITS = 15;
const NAME = /^\d{15}\.log$/;
/** A segment that is being made. */
const UNFINISHED = /^\d{15}\.log\.new$/;

export const segmentName = (first: Position): string => `${String(first).padStart(DIGITS, '0')}.log`;
export const unfinishedName = (name: string): string => `${name}.new`;
export const isSegment = (name: string): boolean => NAME.test(name);
export const isUnfinished = (name: string): boolean => UNFINISHED.test(name);

/** The error for damage in a file of the log, with its place. */
export function logDamage(name: string, offset: number, damage: Damage, what: string): CorruptRecord {
  const where = `The file ${name} of the log on disk is damaged at byte ${offset}`;
  return new CorruptRecord(null, damage, `${where}: ${what}. Refill the node, or restore the file`);
}

/** @throws CorruptRecord */
export function openSegmentHeader(name: string, bytes: Buffer): SegmentHeader {
  const header = decodeSegmentHeader(bytes);
  if (header === undefined) throw logDamage(name, 0, 'checksum', 'its header is damaged');
  if (header.format !== FORMAT) throw unknownFormat(`The file ${name} of the log`, header.format, FORMAT);
  if (segmentName(header.first) !== name)
    throw logDamage(name, 0, 'checksum', `it is the segment of position ${header.first}`);
  return header;
}

/** The end of the whole frames of a segment. */
export interface SegmentEnd {
  /** Of the next frame in the file. */
  readonly offset: number;
  /** Of the next record. */
  readonly position: Position;
  readonly chain: number;
  /** Offset of the last whole frame; undefined without one. */
  readonly lastFrame: number | undefined;
}

/**
 * Passes on the records of a segment from a position on.
 * @param bytes the segment's file from its beginning
 * @param mayBeTorn whether its last frame may not have been durable: then it is left out, and the end is before it
 * @throws CorruptRecord when a frame is damaged, and is not the torn end of a log
 */
export function scanSegment(
  name: string,
  bytes: Buffer,
  mayBeTorn: boolean,
  from: Position,
  each: (record: Uint8Array) => void,
): SegmentEnd {
  const { first, salt, chain } = openSegmentHeader(name, bytes);
  let end: SegmentEnd = { offset: SEGMENT_HEADER_BYTES, position: first, chain, lastFrame: undefined };
  while (end.offset < bytes.length) {
    const { offset, position } = end;
    const header = decodeFrameHeader(bytes, offset, salt);
    if (header === undefined || !isWhole(bytes, offset, header, end.chain)) {
      if (!mayBeTorn || !isTornEnd(bytes, end, header, salt))
        throw logDamage(name, offset, 'checksum', `the records from position ${position} on are damaged`);
      return end;
    }
    if (header.position !== position)
      throw logDamage(name, offset, 'missing', `position ${header.position} follows instead of ${position}`);
    let at = position;
    for (const record of recordsIn(bytes, offset, header.records)) {
      if (at >= from) each(record);
      at++;
    }
    end = { offset: header.end, position: at, chain: header.chain, lastFrame: offset };
  }
  return end;
}

/** Whether the end is a frame that was not durable: it looks torn, and no frame follows it. */
function isTornEnd(
  bytes: Buffer,
  { offset, position }: SegmentEnd,
  header: FrameHeader | undefined,
  salt: number,
): boolean {
  if (isZeros(bytes, offset, bytes.length)) return true;
  if (header !== undefined) {
    return isTorn(bytes, offset, header.end, header.emptySectors) && isZeros(bytes, header.end, bytes.length);
  }
  return isTorn(bytes, offset, headerEnd(offset), 0) && !isFollowed(bytes, offset, position, salt);
}

const headerEnd = (offset: number): number => offset + FRAME_HEADER_BYTES;

/** Whether a later frame begins behind an offset: it was written when the one at the offset was durable. */
function isFollowed(bytes: Buffer, offset: number, position: Position, salt: number): boolean {
  for (let at = offset + 1; at < bytes.length; at++) {
    const header = decodeFrameHeader(bytes, at, salt);
    if (header !== undefined && header.position > position) return true;
  }
  return false;
}
