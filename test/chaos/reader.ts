/** What readers of a run have in common: they keep documents up to date while faults go on. */
import type { HistoryRecorder } from '@isochron/workload';
import type { Connection } from './access.js';
import type { Tally } from './tally.js';

/** A reader that keeps documents up to date. */
export interface Reader {
  readonly name: string;
  /** The documents of its scope that it has now. */
  readonly documents: ReadonlyMap<string, unknown>;
  /** Whether a key is in its scope. */
  reads(key: string): boolean;
  /** Resolves when it has ended, after the signal. */
  run(): Promise<void>;
}

/** What readers find and must not. */
export interface ReadersFound {
  /** Live queries that have ended by themselves. */
  readonly ended: string[];
  /** Messages out of order, and documents that are not those of the cluster. */
  readonly wrong: string[];
}

/** Shared by all readers of a run. */
export interface ReadersOptions {
  readonly recorder: HistoryRecorder;
  readonly tally: Tally;
  /** Regions with the URLs of their nodes. */
  readonly endpoints: Readonly<Record<string, readonly string[]>>;
  readonly connection: Connection;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly found: ReadersFound;
}

/** Documents of a reader that are not as the cluster has them, one sentence each. */
export function differences(reader: Reader, everything: ReadonlyMap<string, unknown>): string[] {
  const keys = new Set([...reader.documents.keys(), ...[...everything.keys()].filter((key) => reader.reads(key))]);
  return [...keys]
    .filter((key) => reader.documents.get(key) !== everything.get(key))
    .map((key) => `${reader.name} has ${key} as ${reader.documents.get(key)}, not as ${everything.get(key)}`);
}
