/// <reference types="jest" />
/** The progress of a run with its log until it died, and a check of the files that it left. */
import type { DurableLog, Position } from '@isochron/storage/wal/durable-log';
import { SEGMENT_HEADER_BYTES } from '@isochron/storage/wal/frame';
import { openSegmentLog } from '@isochron/storage/wal/segment-log';
import { recordsAt, textsFrom } from './suite.js';
import type { VirtualDisk } from './virtual-disk.js';

/** Three frames of one record fill a segment. */
export const SMALL = { segmentBytes: SEGMENT_HEADER_BYTES + 3 * 41 };

/** The progress of a run so far. */
export interface Progress {
  /**
   * The position at which each append begins, and the end of the last one: a crash leaves a log that ends at one of
   * them.
   */
  readonly bounds: Position[];
  acknowledged: Position;
  cut: Position;
}

export const fresh = (): Progress => ({ bounds: [0], acknowledged: 0, cut: 0 });

/** Appends one batch and notes when it is durable. */
export async function append(log: DurableLog, count: number, progress: Progress): Promise<void> {
  const from = progress.bounds.at(-1)!;
  progress.bounds.push(from + count);
  await log.append(recordsAt(from, count));
  progress.acknowledged = Math.max(progress.acknowledged, from + count);
}

/** Cuts the log and notes which records may be gone from now on. */
export async function cut(log: DurableLog, below: Position, progress: Progress): Promise<void> {
  progress.cut = below;
  await log.cut(below);
}

/** Opens the files that are left, compares them with the progress of the run, appends, and reads again. */
export async function checkSurvivor(disk: VirtualDisk, { bounds, acknowledged, cut }: Progress): Promise<void> {
  const log = await openSegmentLog(disk.mount(), SMALL);
  const { first, end } = log;
  expect(first).toBeLessThanOrEqual(cut);
  expect(end).toBeGreaterThanOrEqual(acknowledged);
  expect(bounds).toContain(end);
  expect(await textsFrom(log, first)).toEqual(textsBetween(first, end));
  await log.append(recordsAt(end, 2));
  await log.close();
  const again = await openSegmentLog(disk.mount(), SMALL);
  expect(await textsFrom(again, first)).toEqual(textsBetween(first, end + 2));
  await again.close();
}

/** The result of `textsFrom` for the tests' records. */
export const textsBetween = (from: Position, end: Position): [Position, string][] =>
  recordsAt(from, end - from).map((record, i) => [from + i, record.toString('latin1')]);
