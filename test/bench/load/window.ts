/** A window of time in which loops repeat an operation, each when its last one has ended. */
import { setTimeout as delay } from 'node:timers/promises';
import { build, type Histogram } from 'hdr-histogram-js';
import type { Load } from '../rounds.js';

const LONGEST_US = 60_000_000;

/** Counts latencies up to a minute, in µs, to two digits. */
export const latencyHistogram = (): Histogram =>
  build({ lowestDiscernibleValue: 1, highestTrackableValue: LONGEST_US, numberOfSignificantValueDigits: 2 });

/** Counts a latency. */
export const record = (histogram: Histogram, elapsedMs: number): void =>
  histogram.recordValue(Math.min(LONGEST_US, Math.round(elapsedMs * 1000)));

/** The percentiles that a load reports. */
export function percentilesOf(histogram: Histogram): NonNullable<Load['latency']> {
  const ms = (percentile: number): number => histogram.getValueAtPercentile(percentile) / 1000;
  return { p50Ms: ms(50), p99Ms: ms(99) };
}

/** The repeated operation, and its duration. */
export interface Repeated<R> {
  readonly loops: number;
  /** Before the window: loops that begin all at once are not yet in a steady state. Default 0. */
  readonly leadInMs?: number;
  readonly durationMs: number;
  /** Between the end of an operation and the next one of the same loop. */
  readonly pauseMs?: number;
  /** The operation of the loop with this number. */
  readonly operation: (loop: number) => Promise<R>;
  /** Called for each operation that ended within the window. */
  readonly ended: (elapsedMs: number, result: R) => void;
}

/**
 * Runs the loops. Resolves with the number of all operations, those before and after the window included.
 * @throws the error of a failed operation; the other loops end after their current operation
 */
export async function repeat<R>(of: Repeated<R>): Promise<number> {
  const { loops, leadInMs = 0, durationMs, pauseMs = 0, operation, ended } = of;
  const begin = performance.now() + leadInMs;
  let end = begin + durationMs;
  let all = 0;
  const loop = async (number: number): Promise<void> => {
    for (let began = performance.now(); began < end; began = performance.now()) {
      const result = await operation(number);
      const now = performance.now();
      all++;
      if (now >= begin && now <= end) ended(now - began, result);
      if (pauseMs > 0) await delay(Math.max(0, Math.min(pauseMs, end - now)));
    }
  };
  const running = Array.from({ length: loops }, (_, number) => loop(number));
  try {
    await Promise.all(running);
    return all;
  } catch (error) {
    end = 0;
    await Promise.allSettled(running);
    throw error;
  }
}

/**
 * Runs the loops and counts the operations that ended within the window.
 * @throws the error of a failed operation
 */
export async function runWindow(
  loops: number,
  durationMs: number,
  operation: (loop: number) => Promise<unknown>,
): Promise<Load> {
  const latency = latencyHistogram();
  await repeat({ loops, durationMs, operation, ended: (elapsedMs) => record(latency, elapsedMs) });
  return { operations: latency.totalCount, elapsedMs: durationMs, latency: percentilesOf(latency) };
}
