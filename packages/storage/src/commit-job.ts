import type { DurableRecord, MetaValue, Timestamp, Version } from '@isochron/core';
import type { Chain } from './chain.js';
import type { ChainWriter } from './chain-writer.js';
import type { Batch } from './disk.js';
import { metaKey } from './disk-keys.js';
import { type Horizon, horizonName, horizonOf } from './horizons.js';
import type { Partition } from './partition.js';
import type { Partitions } from './partitions.js';
import { COUNTERS, LOGGED, META_VALUE, OUTCOME, PREPARED, sealAs } from './records.js';

/** One call of `commit` on its way to disk. */
export interface CommitJob {
  readonly number: number;
  readonly records: readonly DurableRecord[];
  /** The chain of every version and removal, in order, pinned once each. */
  readonly chains: readonly Chain[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The chains of a job without repetitions; counts in each how many of its staged changes belong to the job. */
export function distinctChains(job: CommitJob): Chain[] {
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

/** Puts a job's records into a batch. Its chains must be loaded. */
export class BatchBuilder {
  constructor(
    readonly partitions: Partitions,
    readonly writer: ChainWriter,
    /** A horizon rose with this batch. */
    readonly raised: (partition: Partition, horizon: Horizon) => void,
  ) {}

  build(job: CommitJob, chains: readonly Chain[], batch: Batch): void {
    this.partitions.mark(batch);
    for (const record of job.records) this.#put(record, batch);
    const touched = new Set<Partition>();
    // After the horizons, which prune what is written here.
    for (const chain of chains) {
      this.writer.add(chain, chain.batchCount, batch);
      touched.add(chain.partition);
    }
    for (const { keys, counters } of touched) batch.put(keys.counters, sealAs(COUNTERS, counters, keys.counters));
  }

  #put(record: DurableRecord, batch: Batch): void {
    if (record.kind === 'version' || record.kind === 'remove') return;
    if (record.kind === 'meta') {
      this.#putMeta(record.name, record.value, batch);
      return;
    }
    const partition = this.partitions.of(record.partition);
    const { keys } = partition;
    switch (record.kind) {
      case 'prepared': {
        const key = keys.prepared(record.txId);
        if (record.record === null) batch.del(key);
        else batch.put(key, sealAs(PREPARED, record.record, key));
        return;
      }
      case 'outcome': {
        const key = keys.outcome(record.txId);
        batch.put(key, sealAs(OUTCOME, record.record, key));
        batch.put(keys.outcomeAt(record.record.ts, record.txId), NOTHING);
        return;
      }
      case 'log': {
        const key = keys.logged(record.ct, record.tx.txId);
        batch.put(key, sealAs(LOGGED, record.tx, key));
        return;
      }
      case 'truncateLog':
        this.#raise(partition, 'logTruncatedUpTo', record.upTo, batch);
        return;
      case 'collect':
        this.#raise(partition, 'gcFloor', record.floor, batch);
        return;
      case 'forget':
        this.#raise(partition, 'forgottenUpTo', record.upTo, batch);
        return;
    }
  }

  #putMeta(name: string, value: MetaValue, batch: Batch): void {
    const found = horizonOf(name);
    if (found === undefined || typeof value !== 'number') putMeta(name, value, batch);
    else this.#raise(this.partitions.of(found.partition), found.horizon, value, batch);
  }

  #raise(partition: Partition, horizon: Horizon, to: Timestamp, batch: Batch): void {
    if (to <= partition.horizons[horizon]) return;
    partition.horizons[horizon] = to;
    putMeta(horizonName(horizon, partition.id), to, batch);
    this.raised(partition, horizon);
  }
}

function putMeta(name: string, value: MetaValue, batch: Batch): void {
  const key = metaKey(name);
  batch.put(key, sealAs(META_VALUE, value, key));
}

const NOTHING = Buffer.alloc(0);

/** A version that holds on to no more memory than it needs: bytes may be a view of a large frame. */
export function ownVersion(version: Version): Version {
  const { value } = version;
  if (!(value instanceof Uint8Array) || value.buffer.byteLength <= value.byteLength + 1024) return version;
  return { ...version, value: new Uint8Array(value) };
}
