/** All benchmarks, in a required order: idle before any load, waits after all of it. */
import type { Benchmark } from '../context.js';
import { fairness } from './fairness.js';
import { feed } from './feed.js';
import { hotKey } from './hot-key.js';
import { httpBenchmarks } from './http.js';
import { idle, idlePartitions, idleSessions } from './idle.js';
import { logAppends } from './log.js';
import { memoryBenchmarks } from './memory.js';
import { profile } from './profile.js';
import { raceBenchmarks } from './race.js';
import { httpTransactions, sdkCommits, sdkReads, sdkTransactions, sharedSockets } from './sdk.js';
import { staleness, stalenessWan } from './staleness.js';
import { secondStart } from './start.js';
import { startAfterKill } from './start-after-kill.js';
import { suspension } from './suspension.js';
import { keys, partitions, sessions } from './sweeps.js';
import { swiftReads } from './swift.js';
import { tls } from './tls.js';
import { waits } from './waits.js';
import { watches, watchesLong } from './watches.js';
import { writeAmplification } from './write-amplification.js';

export const BENCHMARKS: readonly Benchmark[] = [
  idle,
  idlePartitions,
  idleSessions,
  ...httpBenchmarks,
  sdkReads,
  swiftReads,
  sdkCommits,
  sdkTransactions,
  sharedSockets,
  httpTransactions,
  sessions,
  staleness,
  waits,
  stalenessWan,
  partitions,
  keys,
  ...raceBenchmarks,
  hotKey,
  feed,
  fairness,
  tls,
  watches,
  watchesLong,
  writeAmplification,
  ...memoryBenchmarks,
  secondStart,
  startAfterKill,
  suspension,
  logAppends,
  profile,
];

/** After this one the main cluster is not needed, and would only use CPU. */
export const LAST_ON_MAIN = waits;
