import type { DurableFact, Horizon, MetaValue, StoredVersion, Timestamp } from '@isochron/core';
import { logEntry } from './changelog/log-entries.js';
import type { Changes, Seal } from './checkpoint/changes.js';
import { horizonName } from './horizons.js';
import { metaKey } from './level/disk-keys.js';
import type { Partitions } from './level/partitions.js';
import { META_VALUE, sealAs } from './level/records.js';
import type { Chain } from './memory/chain.js';
import type { ChainWriter } from './memory/chain-writer.js';
import type { Partition } from './memory/partition.js';

/** A batch that is staged. */
export interface StagedBatch {
  readonly number: number;
  readonly facts: readonly DurableFact[];
  /** The batch as a record of the durable log. */
  readonly packed: Uint8Array;
  /** The chain of every version and removal, in order, pinned once each. */
  readonly chains: readonly Chain[];
}

/** One call of `commit` on its way to disk. */
export interface CommitJob extends StagedBatch {
  /** Number of its records. */
  readonly records: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The chains of a job without repetitions; sets in each the number of its staged changes that belong to the job. */
export function distinctChains(job: Pick<StagedBatch, 'number' | 'chains'>): Chain[] {
  const distinct: Chain[] = [];
  for (const chain of job.chains) {
    if (chain.batch !== job.number) {
      chain.batch = job.number;
      chain.batchCount = 0;
      distinct.push(chain);
    }
    chain.batchCount++;
  }
  return distinct;
}

/** Turns the facts of a job, which the log holds, into changes for the next checkpoint. Its chains must be loaded. */
export class JobWriter {
  constructor(
    readonly partitions: Partitions,
    readonly writer: ChainWriter,
    readonly changes: Changes,
    /** A horizon rose with this batch. */
    readonly raised: (partition: Partition, horizon: Horizon) => void,
  ) {}

  write(job: StagedBatch): void {
    for (const fact of job.facts) this.#write(fact);
    // After the horizons, which prune the versions that are written here.
    for (const chain of distinctChains(job)) this.writer.add(chain, chain.batchCount);
  }

  #write(record: DurableFact): void {
    if (record.kind === 'version' || record.kind === 'remove') return;
    if (record.kind === 'meta') {
      this.#writeMeta(record.name, record.value);
      return;
    }
    const partition = this.partitions.of(record.partition);
    switch (record.kind) {
      case 'prepared':
        this.changes.prepared(partition, record.txId, record.record);
        return;
      case 'outcome':
        this.changes.outcome(partition, record.txId, record.record);
        return;
      case 'log':
        this.changes.log(partition, logEntry(record));
        return;
      case 'horizon': {
        const { horizon, upTo, bytes } = record;
        const { settled } = this.partitions;
        const least = bytes === undefined ? 0 : partition.blocks.truncationFor(bytes, settled);
        this.#raise(partition, horizon, Math.max(upTo, least));
        return;
      }
    }
  }

  #writeMeta(name: string, value: MetaValue): void {
    if (name === 'ust' && typeof value === 'number') this.partitions.settled = value;
    this.changes.put(metaKey(name), value, sealMeta);
  }

  #raise(partition: Partition, horizon: Horizon, to: Timestamp): void {
    if (to <= partition.horizons[horizon]) return;
    partition.horizons[horizon] = to;
    this.changes.put(metaKey(horizonName(horizon, partition.id)), to, sealMeta);
    this.raised(partition, horizon);
  }
}

const sealMeta: Seal<MetaValue> = (value, diskKey) => sealAs(META_VALUE, value, diskKey);

/** A version that keeps no more memory alive than it needs: bytes may be a view of a large frame. */
export function ownVersion(version: StoredVersion): StoredVersion {
  const { value } = version;
  if (!(value instanceof Uint8Array) || value.buffer.byteLength <= value.byteLength + 1024) return version;
  return { ...version, value: new Uint8Array(value) };
}
