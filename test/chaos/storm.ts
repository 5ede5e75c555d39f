/**
 * The scenario `storm`: faults of all kinds at once, drawn from the seed, and sessions with every kind of operation.
 */
import type { ErrorCode } from '@isochron/core';
import type { HistoryRecorder } from '@isochron/workload';
import { until } from '../e2e/until.js';
import { Albums } from './albums.js';
import { type ChaosCluster, endpointsOf } from './cluster.js';
import { converged, outcomes } from './convergence.js';
import { drawSchedule, type Fault, type FaultKind } from './faults.js';
import { Gate } from './gate.js';
import { type CallersFound, HttpCaller } from './http-caller.js';
import { Nemesis } from './nemesis.js';
import { Readers } from './readers.js';
import { eventWriter, type Load, type Scenario, writeSchedule } from './run.js';
import { ChaosSession, type SessionsOptions } from './session.js';
import { Tally } from './tally.js';

/** Errors that only some faults explain. */
const EXPLAINED: readonly (readonly [FaultKind, ErrorCode])[] = [
  ['fill', 'STORAGE_FULL'],
  // A node whose clock is off takes no writes (K2, compare before stamping); its clients have seen its timestamps.
  ['jump', 'CLOCK_DRIFT'],
  ['jump', 'TIMESTAMP_IN_FUTURE'],
  ['drift', 'CLOCK_DRIFT'],
  ['drift', 'TIMESTAMP_IN_FUTURE'],
  ['far-clock', 'CLOCK_DRIFT'],
  ['far-start', 'CLOCK_DRIFT'],
  // A node that lost its disk has no outcomes of commits that began before it returned (D10).
  ['wipe', 'OUTCOME_LOST'],
  ['rollback', 'OUTCOME_LOST'],
  // Its log begins with the copies that it was given; a follower goes on where the log is longer.
  ['wipe', 'CHANGES_GONE'],
  ['rollback', 'CHANGES_GONE'],
];
/** A run that takes longer has failed. */
const LIMIT_MS = 180_000;
/** Callers over HTTP, beside the sessions. */
const CALLERS = 3;
const PROGRESS_INTERVAL_MS = 500;

export interface StormOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly kinds: readonly FaultKind[];
  readonly sessions: number;
  /** Hot keys. */
  readonly keys: number;
  /** The run goes on, without new faults, until this many transactions have committed. Default 0. */
  readonly least?: number;
  readonly folder: string;
  readonly onStep: (text: string) => void;
}

export const storm = (options: StormOptions): Scenario => ({
  name: 'storm',
  load: (cluster, recorder) => loadStorm(options, cluster, recorder),
});

async function loadStorm(options: StormOptions, cluster: ChaosCluster, recorder: HistoryRecorder): Promise<Load> {
  const { seed, durationMs, kinds, folder, least = 0 } = options;
  const tally = new Tally(EXPLAINED.filter(([kind]) => kinds.includes(kind)).map(([, code]) => code));
  const gate = new Gate();
  const settled = async () => {
    await converged(cluster, LIMIT_MS, tally.greatest);
  };
  const nemesis = new Nemesis({ cluster, gate, settled, onEvent: eventWriter(folder) });
  const steps = drawSchedule({ seed, durationMs, kinds, shape: cluster.shape, pairs: cluster.links.pairs });
  writeSchedule(folder, steps);
  const access = { endpoints: endpointsOf(cluster), connection: cluster.connection() };
  const readers = new Readers({ recorder, tally, seed, ...access });
  await readers.begun();
  const albums = cluster.hasRules ? await Albums.start(cluster, { tally, gate, seed }) : undefined;
  const sessions = startSessions(options, { recorder, tally, gate, ...access });
  const isEnough = () => tally.outcomes.committed >= least;
  const faults = async () => {
    await nemesis.run(steps, durationMs);
    await until(`${least} transactions`, isEnough, { timeoutMs: LIMIT_MS });
  };
  const startMs = performance.now();
  const progress = setInterval(
    () => options.onStep(progressOf(startMs, options, tally, nemesis)),
    PROGRESS_INTERVAL_MS,
  );
  try {
    // A session or reader that ends early fails the run: without it, nothing would be tested.
    await Promise.race([faults(), sessions.ended, readers.ended, ...(albums === undefined ? [] : [albums.ended])]);
  } catch (error) {
    await Promise.all([sessions.stop(), albums?.stop(), readers.close()]);
    throw error;
  } finally {
    clearInterval(progress);
  }
  const { counts } = nemesis;
  return {
    tally,
    faults: counts,
    heal: () => nemesis.heal(),
    stop: async () => {
      await Promise.all([sessions.stop(), albums?.stop()]);
    },
    compare: async (found) => {
      await readers.compare(found);
      await moved(cluster, sessions.found);
    },
    close: () => readers.close(),
    figures: () => [...figuresOf(tally), ...sessions.figures(), ...readers.figures(), ...(albums?.figures() ?? [])],
    violations: () => ({
      ...readers.violations(),
      ...albums?.violations(),
      'writes that a later request with the token missed': sessions.found.missed,
      'ids with two outcomes': sessions.found.twice,
      'writes that waited for a frozen node': nemesis.blocked,
    }),
  };
}

/** Each attempt of a transaction has a timestamp, and in the end one of the attempts has committed. */
async function moved(cluster: ChaosCluster, { moved, twice }: CallersFound): Promise<void> {
  const answers = await outcomes(cluster, moved);
  for (const [id, found] of answers)
    for (const { status, timestamp } of found)
      if (status === 'committed' && timestamp !== found[0]!.timestamp)
        twice.push(`${id} is committed at ${found[0]!.timestamp}, and at ${timestamp}`);
}

interface Sessions {
  /** Resolves or rejects with the first session that ends. */
  readonly ended: Promise<unknown>;
  readonly stop: () => Promise<void>;
  readonly found: CallersFound;
  readonly figures: () => [string, string][];
}

function startSessions(
  { seed, keys, sessions }: StormOptions,
  shared: Omit<SessionsOptions, 'keys' | 'seed' | 'signal'>,
): Sessions {
  const stopping = new AbortController();
  const all = { ...shared, keys, seed, signal: stopping.signal };
  const found: CallersFound = { reads: 0, writes: 0, failed: {}, missed: [], repeats: 0, moved: [], twice: [] };
  const ended = Promise.all([
    ...Array.from({ length: sessions }, (_, i) => new ChaosSession(all, i).run()),
    ...Array.from({ length: CALLERS }, (_, i) => new HttpCaller(all, i, found).run()),
  ]);
  const stop = async () => {
    stopping.abort();
    await ended;
  };
  const failed = () => Object.entries(found.failed).map(([status, count]) => `${status}: ${count}`);
  const requests = () =>
    `${found.reads} reads, ${found.writes} writes, ${found.repeats} sendings of repeated writes; others by code: ${failed().join(', ') || 'none'}`;
  return { ended, stop, found, figures: () => [['requests over HTTP with forked tokens', requests()]] };
}

const figuresOf = ({ moves, deaths }: Tally): [string, string][] => [
  ['sessions that moved to another region', String(moves)],
  ['sessions that were lost', String(deaths)],
];

function progressOf(startMs: number, { durationMs }: StormOptions, { outcomes }: Tally, { now }: Nemesis): string {
  const { committed, aborted, unknown } = outcomes;
  const seconds = `${Math.round((performance.now() - startMs) / 1000)} of ${Math.round(durationMs / 1000)} s`;
  const faults = now.map(nameOf).join(', ');
  return `${seconds}, ${committed} committed, ${aborted} aborted, ${unknown} unknown; ${faults || 'no fault'}`;
}

/** A fault in two or three words. */
export function nameOf(fault: Fault): string {
  if ('node' in fault) return `${fault.kind} ${fault.node}`;
  if ('pair' in fault) return `${fault.kind} ${fault.pair.join('–')}`;
  return 'region' in fault ? `${fault.kind} ${fault.region}` : fault.kind;
}
