import type {
  ErrorCode,
  NodeId,
  PartitionId,
  QualifiedKey,
  RegionId,
  StoredVersion,
  Topology,
  TxId,
  Version,
  VersionReader,
} from '@isochron/core';
import type { Address } from '../machine.js';
import type { Activity } from './activity.js';
import type { DriftWatch } from './drift-watch.js';
import type { Maps } from './maps/maps.js';
import type { NodeClock } from './node-clock.js';
import type { Losses } from './replication/losses.js';
import type { Membership } from './replication/membership.js';
import type { RegionalTimes } from './replication/regional-times.js';
import type { StableTime } from './replication/stable-time.js';
import type { Verification } from './replication/verification.js';
import type { ProtocolSettings } from './settings.js';

/**
 * The state that the machines of one node share. The papers have one server for each partition; a node here holds
 * several replicas, which share the clock, the stable time and the coordinator. This deviation changes no rule: one
 * clock for several replicas is one of the clocks that they could have.
 */
export interface NodeState {
  readonly node: NodeId;
  readonly region: RegionId;
  readonly maps: Maps;
  /** That of the adopted map. */
  readonly topology: Topology;
  readonly settings: ProtocolSettings;
  /** Keyspaces in which no write is late: what is committed again takes effect in the order of commits (F9). */
  readonly lateInOrder: ReadonlySet<string>;
  /** Number of entries of a snapshot beside its timestamp, under this protocol. */
  readonly entries: number;
  /**
   * Whether readers see only what is stable: replicas keep the log of all regions for readers of changes (CF2), and
   * writes above the stable time know what they need (M4).
   */
  readonly stableSnapshots: boolean;
  readonly clock: NodeClock;
  readonly stable: StableTime;
  /** What the region's nodes have installed, under protocols whose snapshots use it. */
  readonly regional: RegionalTimes;
  readonly drift: DriftWatch;
  readonly activity: Activity;
  readonly membership: Membership;
  /** Transactions of which a lost disk took a part (D10). */
  readonly losses: Losses;
  readonly verification: Verification;
  /** Why new writes must be refused now (D11), as the driver measures it: a code, or undefined. */
  readonly writable: () => ErrorCode | undefined;
  readonly reader: VersionReader;
  /** Receives conflicting writes, under protocols that find them. */
  readonly conflict?: ((conflict: Conflict) => void) | undefined;
  /** Receives messages about a transaction from nodes that have no part in it. */
  readonly outsider?: ((message: OutsidersMessage) => void) | undefined;
}

/** A message about a transaction, ignored because its sender has no part in the transaction (D12). */
export interface OutsidersMessage {
  readonly type: string;
  readonly from: NodeId;
  readonly txId: TxId;
  readonly partition: PartitionId;
}

/** The detail of a refusal for the code that `writable` returns. */
export const takesNoWrites = (node: NodeId, why: ErrorCode): string =>
  why === 'STORAGE_FULL'
    ? `The disk of ${node} is full; nothing was written. Make room there, or raise its quota: it takes writes again by itself.`
    : `${node} takes no writes now; nothing was written.`;

/** Two versions of a key whose writers had not read each other's. */
export interface Conflict {
  readonly partition: PartitionId;
  readonly key: QualifiedKey;
  /** The received one. The greater of both is shown. */
  readonly update: StoredVersion;
  /** The one that was here; undefined when it was deleted. */
  readonly existing: Version | undefined;
}

/** Name of the machine of a replica. */
export const replicaName = (partition: PartitionId): string => `replica/${partition}`;

/** Fixes, with the partitions that it writes, the cohorts of an attempt (D4). */
export interface Attempt {
  /** Version of the map that the attempt belongs to. */
  readonly map: number;
  readonly home: RegionId;
  readonly avoid?: readonly RegionId[] | undefined;
}

/** Addresses of all replicas, made once. */
export class Addresses {
  readonly #replicas = new Map<string, Address>();

  constructor(readonly maps: Maps) {}

  /** The replica `p^m_n`; the region must host the partition. */
  replica(partition: PartitionId, region: RegionId): Address {
    const name = `${region}/${partition}`;
    let address = this.#replicas.get(name);
    if (address === undefined) {
      address = { node: this.maps.current.replicaNode(partition, region)!, machine: replicaName(partition) };
      this.#replicas.set(name, address);
    }
    return address;
  }

  /** Whether a node holds the cohort of a partition in an attempt: only its answers about that cohort count (D12). */
  isCohort(
    node: NodeId,
    partition: PartitionId,
    attempt: Attempt & { readonly cohorts: readonly PartitionId[] },
  ): boolean {
    return attempt.cohorts.includes(partition) && this.cohort(partition, attempt).node === node;
  }

  /** Whether a node that was a member in the map of an attempt has left since, in order. */
  isGone(node: NodeId, { map }: Pick<Attempt, 'map'>): boolean {
    const { current } = this.maps;
    const isAway = map < current.version && !current.isMember(node) && this.maps.at(map)!.isMember(node);
    return isAway && !this.maps.suspendedSince(map, [node]);
  }

  /** The cohort of a partition in an attempt (D4), whose map is known here. */
  cohort(partition: PartitionId, { map, home, avoid }: Attempt): Address {
    return this.replica(partition, this.maps.at(map)!.cohort(partition, home, avoid).region);
  }
}
