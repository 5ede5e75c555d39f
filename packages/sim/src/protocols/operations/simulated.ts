/** What the simulator must know of snapshots and sessions of a protocol of single operations. */
import type { Deps, PartitionId, RegionId, Timestamp, Topology, Version } from '@isochron/core';
import type { OperationMessage, Snapshot } from '@isochron/protocols';
import type { VisibilityIn } from '../../checks/visibility.js';

/** What the snapshots of a protocol's read-only transactions are. */
export interface SimulatedSnapshots {
  /** What they show, after the paper. */
  readonly visibility: VisibilityIn;
  /** As checks compare it, where a replica of a region was asked for it. */
  snapshot(asked: Deps, region: RegionId, topology: Topology): Snapshot;
  /**
   * Up to where a replica that has answered promises to write nothing any more (Contrarian, Lemma 6); 0 where it
   * promises nothing.
   */
  closes(asked: Deps, region: RegionId, topology: Topology): number;
}

/**
 * How what a session has seen goes with what it reads and writes, after the paper. `seen` has as many entries as the protocol's sessions.
 */
export interface SimulatedSeen {
  /** Whether a snapshot covers it. */
  inSnapshot(seen: Deps, snapshot: Deps): boolean;
  /** Whether a version that a region writes depends on it. */
  inVersion(seen: Deps, version: Version, region: RegionId, topology: Topology): boolean;
  /** Whether it has what a version depends on that a region shows. */
  hasVersion(seen: Deps, version: Version, region: RegionId, topology: Topology): boolean;
}

/** All that a region has written on a partition, up to a timestamp. */
export interface Writes {
  readonly partition: PartitionId;
  readonly region: RegionId;
  readonly upTo: Timestamp;
}

/**
 * What a message claims to be in every replica, or its sender would not have said it so.
 *
 * @param question what it answers, where it answers something
 */
export type SimulatedComplete = (
  message: OperationMessage,
  question: OperationMessage | undefined,
  topology: Topology,
) => Writes | undefined;
