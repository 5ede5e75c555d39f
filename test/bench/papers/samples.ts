/** The record of a run: all data that the report is made of. */
import type { Machine } from '../report.js';
import type { Experiment, Kind } from './experiment.js';
import type { ScaleRecord } from './scale/record.js';

/** Latencies of one round, ms. */
export interface Latency {
  readonly count: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

/** The counters of a system's nodes during a round, summed over them, by the name and labels of the metric. */
export type Counts = Readonly<Record<string, number>>;

/** One round of one system at one point. */
export interface RoundSample {
  /** Operations that ended in the round's window, of `elapsedMs`. */
  readonly operations: number;
  readonly elapsedMs: number;
  /** The basis of `counts` and `cpuUs`: the whole time, with the operations before and after the window. */
  readonly counted: { readonly operations: number; readonly ms: number };
  /** CPU time of the nodes, µs an operation; null if the system does not report it. */
  readonly cpuUs: number | null;
  readonly latencies: { readonly [K in Kind]?: Latency };
  readonly counts: Counts;
}

/** A system at a point of its curve. */
export interface PointSample {
  readonly case: string;
  readonly sessions: number;
  readonly system: string;
  readonly rounds: readonly RoundSample[];
}

/** From the answer to a write until a session with a node of the reader's region saw it, ms. */
export interface VisibilitySample {
  readonly source: string;
  readonly reader: string;
  readonly ms: number;
}

export interface VisibilityRecord {
  readonly system: string;
  readonly samples: readonly VisibilitySample[];
  /** Updates that a region should have shown and did not. */
  readonly unseen: number;
}

export interface SystemRecord {
  readonly name: string;
  /** The reason why it was not measured. */
  readonly absent?: string;
  /** Keys of each region's nodes, before any load. */
  readonly keysByRegion?: Readonly<Record<string, number>>;
}

export interface ExperimentRecord {
  readonly experiment: Experiment;
  readonly systems: readonly SystemRecord[];
  readonly points: readonly PointSample[];
  readonly visibility: readonly VisibilityRecord[];
  /** Points that could not be measured, with the reasons. */
  readonly failures: readonly PointFailure[];
}

export interface PointFailure {
  readonly point: string;
  readonly error: string;
}

export interface RunSettings {
  readonly rounds: number;
  readonly durationMs: number;
  readonly seed: number;
  readonly quick: boolean;
  readonly keysPerPartition: number;
}

/** A whole run. */
export interface RunRecord {
  readonly date: string;
  readonly machine: Machine;
  readonly settings: RunSettings;
  readonly experiments: readonly ExperimentRecord[];
  readonly failures: readonly { readonly experiment: string; readonly error: string }[];
  /** The simulated part. */
  readonly scale?: ScaleRecord;
}
