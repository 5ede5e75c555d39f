/**
 * How long a replica's log keeps the transactions of all regions for readers of changes (CF2). Truncation looks at
 * stable time, not at the clock: while UST stands still, nothing is lost that readers have not had.
 */
import { type PartitionId, packWall, type Timestamp, wallOf } from '@isochron/core';
import type { Effects } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { ReplicationMessage } from './messages.js';

type Out = Effects<ReplicationMessage>;

/** While a partition is written, its log is truncated this often, in ms of stable time. */
const BUSY_STEP_MS = 5_000;
/** An idle one is truncated this many times in a retention, until it is empty. */
const IDLE_STEPS = 8;

/** Name of the meta record: above it, the partition's log has the transactions of all regions. */
export const changesRecord = (partition: PartitionId): string => `changes/${partition}`;

export class ChangeRetention {
  /** Where the latest truncation stands, and the newest version at that moment. */
  #truncatedAt: Timestamp = 0;
  #lastVersion: Timestamp = 0;
  #from: Timestamp;

  /** @param from content of the meta record; undefined on a disk that has none, or whose data were copied */
  constructor(
    readonly partition: PartitionId,
    readonly state: Pick<NodeState, 'stable' | 'settings' | 'membership'>,
    readonly recorded: Timestamp | undefined,
  ) {
    this.#from = recorded ?? 0;
  }

  /** The log has the transactions of all regions above. */
  get from(): Timestamp {
    return this.#from;
  }

  /** Whether the disk has a record of it. */
  get isRecorded(): boolean {
    return this.recorded !== undefined;
  }

  /**
   * Begins to keep the log on a disk with versions that it lacks.
   *
   * @param lastVersion all of these lie at or below
   */
  start(lastVersion: Timestamp, out: Out): void {
    if (this.isRecorded) return;
    this.#from = Math.max(1, lastVersion, this.state.membership.incarnation);
    out.write({ kind: 'meta', name: changesRecord(this.partition), value: this.#from });
  }

  /**
   * @param lastVersion highest timestamp of a version
   * @param confirmedUpTo a peer may ask for an own group above
   * @param isConfirmed whether every peer has all own groups at or below stable time: a limit of bytes drops these, too
   */
  collect(lastVersion: Timestamp, confirmedUpTo: Timestamp, isConfirmed: boolean, out: Out): void {
    const { partition, state } = this;
    const { changeRetentionMs, changeRetentionBytes } = state.settings;
    const bytes = isConfirmed ? changeRetentionBytes : undefined;
    const aged = packWall(Math.max(0, wallOf(state.stable.aggregated) - changeRetentionMs));
    const upTo = Math.min(aged, confirmedUpTo);
    const isBusy = lastVersion > this.#lastVersion;
    const stepMs = isBusy ? Math.min(BUSY_STEP_MS, changeRetentionMs) : changeRetentionMs / IDLE_STEPS;
    const isDue = wallOf(upTo) - wallOf(this.#truncatedAt) >= stepMs;
    if (!isDue || (!isBusy && this.#truncatedAt >= lastVersion)) return;
    this.#truncatedAt = upTo;
    this.#lastVersion = lastVersion;
    out.write({ kind: 'horizon', partition, horizon: 'logTruncatedUpTo', upTo, bytes });
  }
}
