/**
 * The way of a batch: staged, appended to the durable log, taken into memory, and written to LevelDB by a later
 * checkpoint.
 */
import { type DurableFact, type DurableRecord, factsOf, IsochronError } from '@isochron/core';
import type { Checkpoints } from './checkpoint/checkpoints.js';
import type { Collector } from './collector/collector.js';
import type { CommitJob, JobWriter, StagedBatch } from './commit-job.js';
import type { FirstFailure } from './failure.js';
import type { ChainLoader } from './memory/chain-loader.js';
import type { Staging } from './memory/staging.js';
import type { VersionStoreStats } from './store.js';
import type { DurableLog, LogSlice, Position } from './wal/durable-log.js';
import type { LogRecords } from './wal/log-records.js';

/** Batches of the log that a start takes in together. */
const REPLAYED_TOGETHER = 1000;

/** The parts of a pipeline. */
export interface PipelineParts {
  readonly log: DurableLog;
  readonly packing: LogRecords;
  readonly staging: Staging;
  readonly loader: ChainLoader;
  readonly writer: JobWriter;
  readonly checkpoints: Checkpoints;
  readonly collector: Collector;
  readonly failure: FirstFailure;
}

/** Commits batches in the order of the calls. Waiting batches share one write of the log. */
export class Pipeline {
  #queue: CommitJob[] = [];
  #jobs = 0;
  /** Settles with the latest commit. */
  #lastCommit: Promise<void> = Promise.resolve();
  /** Settles when no batch waits. */
  #running: Promise<void> | undefined;
  #isClosed = false;
  readonly #counts = { batches: 0, records: 0, waiting: 0, lastSyncMs: 0, slowestSyncMs: 0 };

  constructor(readonly parts: PipelineParts) {}

  /** As {@link VersionStore.commit}. */
  commit(records: readonly DurableRecord[]): Promise<void> {
    const refusal = this.parts.failure.error ?? (this.#isClosed ? closedError() : undefined);
    if (refusal !== undefined) return Promise.reject(refusal);
    const packed = this.parts.packing.pack(records);
    const job = this.#staged(factsOf(records), packed);
    this.#counts.waiting++;
    this.#lastCommit = new Promise((resolve, reject) => {
      this.#queue.push({ ...job, records: records.length, resolve, reject });
    });
    this.#start();
    return this.#lastCommit;
  }

  /**
   * Takes in batches that the log held when it was opened, as if they had just been committed: many batches together,
   * as their keys are read from disk together.
   */
  async replay({ first, records }: LogSlice): Promise<void> {
    const { packing, loader } = this.parts;
    for (let at = 0; at < records.length; at += REPLAYED_TOGETHER) {
      const batches = records
        .slice(at, at + REPLAYED_TOGETHER)
        .map((packed) => this.#staged(factsOf(packing.unpack(packed)), packed));
      await loader.loadMany(batches.flatMap(({ chains }) => chains));
      this.#apply(batches, first + at);
      await this.#relieve();
    }
  }

  /** Lets the collector go on after the replay. */
  replayed(): void {
    this.#start();
  }

  /** Waits for the commits so far, whether they succeed or not. */
  async settled(): Promise<void> {
    await this.#lastCommit.catch(() => undefined);
  }

  get counts(): VersionStoreStats['commits'] {
    return { ...this.#counts };
  }

  /** Refuses new batches, and waits for those under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  #staged(facts: readonly DurableFact[], packed: Uint8Array): StagedBatch {
    return { number: ++this.#jobs, facts, packed, chains: this.parts.staging.stage(facts) };
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // A commit may have come between the loop's end and this callback.
      if (this.#queue.length > 0) this.#start();
    });
  }

  /** One write after the other; between two of them, one slice of collection. */
  async #run(): Promise<void> {
    const { collector, checkpoints, failure } = this.parts;
    while (this.#queue.length > 0 || (!collector.idle && failure.error === undefined)) {
      const jobs = this.#queue.splice(0);
      if (jobs.length > 0) await this.#write(jobs);
      if (!collector.idle && failure.error === undefined) await this.#collect();
      if (failure.error === undefined) checkpoints.schedule();
      if (this.#isClosed && this.#queue.length === 0) return;
    }
  }

  async #collect(): Promise<void> {
    try {
      await this.parts.collector.slice();
    } catch (error) {
      this.parts.failure.fail('Cannot collect garbage', error);
    }
  }

  async #write(jobs: readonly CommitJob[]): Promise<void> {
    try {
      this.parts.failure.check();
      await this.#load(jobs);
      this.#apply(jobs, await this.#append(jobs));
      await this.#relieve();
    } catch (error) {
      const failure = this.parts.failure.fail('Cannot write to disk', error);
      for (const { reject } of jobs) reject(failure);
      return;
    } finally {
      this.#counts.batches += jobs.length;
      this.#counts.waiting -= jobs.length;
    }
    for (const { records, resolve } of jobs) {
      this.#counts.records += records;
      resolve();
    }
  }

  /** Before anything is in the log: a commit that fails on a damaged chain must not come back. */
  async #load(jobs: readonly CommitJob[]): Promise<void> {
    for (const { chains } of jobs) await this.parts.loader.loadForCommit(chains);
  }

  async #append(jobs: readonly CommitJob[]): Promise<Position> {
    const start = performance.now();
    const first = await this.parts.log.append(jobs.map(({ packed }) => packed));
    const { slowestSyncMs } = this.#counts;
    this.#counts.lastSyncMs = performance.now() - start;
    this.#counts.slowestSyncMs = Math.max(slowestSyncMs, this.#counts.lastSyncMs);
    return first;
  }

  #apply(jobs: readonly StagedBatch[], first: Position): void {
    const { writer, staging, checkpoints } = this.parts;
    jobs.forEach((job, i) => {
      writer.write(job);
      staging.unstage(job.facts, job.chains);
      checkpoints.applied(first + i, job.packed.length);
    });
  }

  /** Commits wait for a checkpoint when they come faster than LevelDB takes them. */
  async #relieve(): Promise<void> {
    const { checkpoints } = this.parts;
    if (checkpoints.isBehind) await checkpoints.run();
  }
}

const closedError = (): IsochronError =>
  new IsochronError('STORAGE_FAILED', 'The store is closed', { retryable: false });
