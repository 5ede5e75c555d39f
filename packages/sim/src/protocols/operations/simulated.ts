/** The simulator's view of the snapshots and sessions of a protocol of single operations. */
import type { Deps, PartitionId, RegionId, StoredVersion, Timestamp, Topology } from '@isochron/core';
import type { OperationMessage, Snapshot } from '@isochron/protocols';
import type { VisibilityIn } from '../../checks/evidence/visibility.js';

/** The snapshots of a protocol's read-only transactions. */
export interface SimulatedSnapshots {
  /** The versions that they show, after the paper. */
  readonly visibility: VisibilityIn;
  /** A snapshot as checks compare it, for a read at a replica of a region. */
  snapshot(asked: Deps, region: RegionId, topology: Topology): Snapshot;
  /**
   * The time up to which a replica that has answered promises to write no more (Contrarian, Lemma 6); 0 if it promises
   * nothing.
   */
  closes(asked: Deps, region: RegionId, topology: Topology): number;
}

/**
 * How a session's past relates to its reads and writes, after the paper. `seen` has as many entries as the protocol's
 * sessions.
 */
export interface SimulatedSeen {
  /** Whether a snapshot covers it. */
  inSnapshot(seen: Deps, snapshot: Deps): boolean;
  /** Whether a version that a region writes depends on it. */
  inVersion(seen: Deps, version: StoredVersion, region: RegionId, topology: Topology): boolean;
  /** Whether it has everything that a version which a region shows depends on. */
  hasVersion(seen: Deps, version: StoredVersion, region: RegionId, topology: Topology): boolean;
}

/** All that a region has written on a partition, up to a timestamp. */
export interface Writes {
  readonly partition: PartitionId;
  readonly region: RegionId;
  readonly upTo: Timestamp;
}

/**
 * The writes that a message claims, explicitly or by its form, to be in every replica.
 *
 * @param question the message that it answers, if it is an answer
 */
export type SimulatedComplete = (
  message: OperationMessage,
  question: OperationMessage | undefined,
  topology: Topology,
) => Writes | undefined;
