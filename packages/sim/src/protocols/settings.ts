/** The timings of a node, drawn small enough to take effect within a run. */
import type { Random } from '@isochron/core';
import { DEFAULT_SETTINGS, type ProtocolSettings } from '@isochron/protocols';
import { integer, logBetween, rounded } from '@isochron/simulated-world/draws';
import type { Settings } from './adapter.js';

const WIDE_DRIFT_MS = 600_000;

/** A retention below this is an experiment. */
const MIN_RETENTION_MS = 2_000;

/** The default, a limit that only clocks that are far off exceed, or any number. */
function drawDriftLimit(random: Random): number {
  const share = random.float();
  if (share < 0.4) return DEFAULT_SETTINGS.maxClockDriftMs;
  if (share < 0.8) return WIDE_DRIFT_MS;
  return Math.round(logBetween(random, 500, 20_000));
}

/** Every setting should take effect in some runs: a lease that ends, a snapshot that is too old, a failover. */
export function drawSettings(random: Random): Settings {
  const ms = (low: number, high: number): number => Math.round(logBetween(random, low, high));
  const roundMs = ms(5, 60);
  return {
    applyIntervalMs: roundMs,
    gossipIntervalMs: random.chance(0.7) ? roundMs : ms(5, 100),
    idleBackoff: rounded(random.chance(0.5) ? 1.7 : logBetween(random, 1, 20)),
    maxTransactionMs: ms(300, 8_000),
    retentionMs: random.chance(0.3) ? 0 : ms(50, 10_000),
    outcomeRetentionMs: random.chance(0.5) ? DEFAULT_SETTINGS.outcomeRetentionMs : ms(100, 60_000),
    maxClockDriftMs: drawDriftLimit(random),
    resolveAfterMs: ms(50, 3_000),
    readTimeoutMs: ms(50, 1_500),
    readDeadlineMs: ms(1_000, 8_000),
    commitTimeoutMs: ms(1_500, 8_000),
    snapshotWaitMs: ms(50, 2_000),
    treeFanOut: integer(random, 1, 4),
  } satisfies Partial<ProtocolSettings>;
}

/**
 * How long a started node waits for the reports of its peers: some runs go on without them. From a stream of its own.
 */
export const drawVerification = (random: Random): Settings => ({
  verifyTimeoutMs: random.chance(0.4) ? DEFAULT_SETTINGS.verifyTimeoutMs : Math.round(logBetween(random, 300, 8_000)),
});

/**
 * The room for waiting requests of a replica: in some runs so little that it refuses prepares as overloaded. From a
 * stream of its own.
 */
export const drawRoom = (random: Random): Settings => ({
  maxPendingBytes: random.chance(0.8) ? DEFAULT_SETTINGS.maxPendingBytes : Math.round(logBetween(random, 20, 1_000)),
});

/**
 * Whether nodes with these settings serve new clients as soon as everything is healed. A clock that was ahead is
 * corrected slowly, and its node refuses prepares for as long (T1). A read in one round trip is in no table of open
 * transactions: versions must be kept for as long as it takes. Cohorts that ask for an outcome before the slowest
 * prepare can have arrived abort every commit.
 */
export const servesAgain = (
  { maxClockDriftMs = 0, retentionMs = 0, resolveAfterMs = 0 }: Settings,
  slowestMs: number,
): boolean =>
  maxClockDriftMs >= DEFAULT_SETTINGS.maxClockDriftMs &&
  retentionMs >= MIN_RETENTION_MS &&
  resolveAfterMs >= 100 + 8 * slowestMs;
