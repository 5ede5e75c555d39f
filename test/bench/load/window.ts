/** A window of time in which loops repeat an operation, each when its last one has ended. */
import { build } from 'hdr-histogram-js';
import type { Load } from '../rounds.js';

const LONGEST_US = 60_000_000;

/**
 * Runs the loops and counts what ended within the window.
 * @param operation gets the loop's number
 * @throws what an operation rejects with; the other loops end with their operation in hand
 */
export async function runWindow(
  loops: number,
  durationMs: number,
  operation: (loop: number) => Promise<unknown>,
): Promise<Load> {
  const latency = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: LONGEST_US,
    numberOfSignificantValueDigits: 2,
  });
  const start = performance.now();
  let end = start + durationMs;
  let operations = 0;
  const loop = async (number: number): Promise<void> => {
    for (let began = performance.now(); began < end; ) {
      await operation(number);
      const ended = performance.now();
      if (ended <= end) {
        operations++;
        latency.recordValue(Math.min(LONGEST_US, Math.round((ended - began) * 1000)));
      }
      began = ended;
    }
  };
  const running = Array.from({ length: loops }, (_, number) => loop(number));
  try {
    await Promise.all(running);
  } catch (error) {
    end = 0;
    await Promise.allSettled(running);
    throw error;
  }
  const ms = (percentile: number): number => latency.getValueAtPercentile(percentile) / 1000;
  return { operations, elapsedMs: durationMs, latency: { p50Ms: ms(50), p99Ms: ms(99) } };
}
