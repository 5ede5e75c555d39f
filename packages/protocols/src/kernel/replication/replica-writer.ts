/** The transactions that a replica applies, its own and its peers', with the version vector that covers them. */
import {
  type AppliedRecord,
  type PartitionId,
  type QualifiedKey,
  type RegionId,
  type StoredVersion,
  type Timestamp,
  versionsIn,
} from '@isochron/core';
import type { Effects, WriteSeq } from '../../machine.js';
import type { Outcomes } from '../outcomes.js';
import type { ReplicationMessage } from './messages.js';
import type { UnstableTx } from './unstable.js';
import type { VersionVector } from './version-vector.js';

type Out = Effects<ReplicationMessage>;

/** A version, own or a peer's, is on its way to the disk; it is there with the batch of this number. */
export type Written = (key: QualifiedKey, version: StoredVersion, seq: WriteSeq) => void;

export class ReplicaWriter {
  constructor(
    readonly partition: PartitionId,
    readonly vv: VersionVector,
    readonly outcomes: Pick<Outcomes, 'committed'>,
    /** Every transaction is applied here. */
    readonly applied: (tx: UnstableTx) => void,
    readonly written: Written | undefined,
  ) {}

  /** Writes a transaction, with its outcome where that is kept. Returns the number of its batch. */
  apply(applied: Omit<AppliedRecord, 'kind' | 'partition'>, out: Out): WriteSeq {
    const seq = out.write({ kind: 'applied', partition: this.partition, ...applied });
    const { ct, tx, outcome, region } = applied;
    this.applied({ ct, region, tx });
    if (outcome !== undefined) this.outcomes.committed(tx.txId, { ts: ct, ...outcome }, seq);
    if (this.written !== undefined) for (const { key, version } of versionsIn(applied)) this.written(key, version, seq);
    return seq;
  }

  /** Raises a VV entry; with new versions the vector goes to disk in their batch. */
  raise(region: RegionId, ts: Timestamp, wrote: boolean, out: Out): void {
    this.vv.raise(region, ts, wrote ? out.lastWrite() : 0);
    if (wrote) this.vector(out);
  }

  /** Writes the version vector. */
  vector(out: Out): void {
    out.write({ kind: 'meta', name: `vv/${this.partition}`, value: this.vv.entries() });
  }
}
