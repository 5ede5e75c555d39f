/** The initial state of a replica, and its data about its peers. */
import type { PartitionId, RegionId, Timestamp, WallMs } from '@isochron/core';
import { Addresses, type NodeState } from '../node-state.js';
import { PeerBacklog } from './gate.js';
import { PeerProgress } from './peer-progress.js';
import type { RollbackEvidence } from './rollback-watch.js';
import type { UnstableTx } from './unstable.js';
import type { VersionVector } from './version-vector.js';

/** The data on a replica's disk (D7). */
export interface RecoveredReplica {
  /** The map that the sources of its copy had adopted; 0 without a copy. */
  readonly copiedUnder: number;
  /** Per hosting region: `max(durable VV, durable ust)`. */
  readonly versionVector: readonly (readonly [RegionId, Timestamp])[];
  /** Highest `ct` of a group received from each peer. */
  readonly highestGroups: { readonly [region: RegionId]: Timestamp };
  /** The last known `incarnation` of each peer's disk. */
  readonly incarnations: { readonly [region: RegionId]: Timestamp };
  /** How far each peer's version clock counts, if it has a limit (`PeerProgress`). */
  readonly limits: { readonly [region: RegionId]: Timestamp };
  readonly evidence: RollbackEvidence;
  readonly gcFloor: Timestamp;
  readonly forgottenUpTo: Timestamp;
  /** Highest commit timestamp that was ever truncated from the own log, and that is in it. */
  readonly truncatedUpTo: Timestamp;
  readonly logged: Timestamp;
  /** Above it the log has the transactions of all regions (CF2); undefined on a disk without that record. */
  readonly changesFrom?: Timestamp | undefined;
}

/** The data with which a replica that lost its disk starts again (D10). */
export interface RebuiltReplica {
  readonly vector: ReadonlyMap<RegionId, Timestamp>;
  /** Highest `ct` of a copied group of each peer: its disk had it, and may have been rolled back since. */
  readonly highestGroups: ReadonlyMap<RegionId, Timestamp>;
  readonly gcFloor: Timestamp;
  readonly forgottenUpTo: Timestamp;
  /** The copied transactions above stable time. */
  readonly unstable: readonly UnstableTx[];
  readonly logged: Timestamp;
  /** The newest own group that is not in the new log, because it is universally stable. */
  readonly truncatedUpTo: Timestamp;
}

/** The peers of a partition's replica, as the disk has them. `gated`: their groups wait to be admitted. */
export function peersOf(
  partition: PartitionId,
  { maps, region: own, settings }: NodeState,
  recovered: RecoveredReplica,
  vv: VersionVector,
  gated: boolean,
): Map<RegionId, PeerProgress> {
  const addresses = new Addresses(maps);
  const regions = recovered.versionVector.map(([region]) => region).filter((region) => region !== own);
  const peers = new Map<RegionId, PeerProgress>();
  for (const region of regions) {
    const limit = recovered.limits[region];
    const held = gated ? new PeerBacklog(settings.maxPendingBytes / regions.length) : undefined;
    const progress = new PeerProgress(addresses.replica(partition, region), held, {
      group: recovered.highestGroups[region] ?? 0,
      incarnation: recovered.incarnations[region] ?? 0,
      cap: limit === undefined ? undefined : Math.min(limit, vv.applied(region)),
    });
    peers.set(region, progress);
  }
  return peers;
}

/** Whether the first report of a peer, less than `withinMs` ago, covers data of its own that are not applied here. */
export const lagging = (
  peers: ReadonlyMap<RegionId, PeerProgress>,
  vv: VersionVector,
  now: WallMs,
  withinMs: number,
): boolean =>
  [...peers].some(([region, { sourced: first }]) => {
    return first !== undefined && vv.applied(region) < first.clock && now < first.at + withinMs;
  });
