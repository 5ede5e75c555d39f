import type { ErrorCode, NodeId, PartitionId, RegionId, Topology, VersionReader } from '@isochron/core';
import type { Activity } from '../kernel/activity.js';
import type { DriftWatch } from '../kernel/drift-watch.js';
import type { Membership } from '../kernel/membership.js';
import type { NodeClock } from '../kernel/node-clock.js';
import type { StableTime } from '../kernel/stable-time.js';
import type { Address } from '../machine.js';
import type { ParisSettings } from './settings.js';

/**
 * What the machines of one node share. The paper has one server for each partition; a node here holds several replicas, and they
 * share the clock, the stable time and the coordinator (a deviation that changes no rule: one clock for several replicas
 * is one of the clocks they could have).
 */
export interface NodeState {
  readonly node: NodeId;
  readonly region: RegionId;
  readonly topology: Topology;
  readonly epoch: number;
  readonly settings: ParisSettings;
  readonly clock: NodeClock;
  readonly stable: StableTime;
  readonly drift: DriftWatch;
  readonly activity: Activity;
  readonly membership: Membership;
  /** Why new writes must be refused now (D11), as the driver measures it: a code, or undefined. */
  readonly writable: () => ErrorCode | undefined;
  readonly reader: VersionReader;
}

/** Name of the machine of a replica. */
export const replicaName = (partition: PartitionId): string => `replica/${partition}`;

/** Addresses of all replicas and the first nodes of regions, made once. */
export class Addresses {
  readonly #replicas = new Map<string, Address>();

  constructor(readonly topology: Topology) {}

  /** The replica `p^m_n`; the region must host the partition. */
  replica(partition: PartitionId, region: RegionId): Address {
    const name = `${region}/${partition}`;
    let address = this.#replicas.get(name);
    if (address === undefined) {
      address = { node: this.topology.replicaNode(partition, region)!, machine: replicaName(partition) };
      this.#replicas.set(name, address);
    }
    return address;
  }

  /** The cohort of a partition under a home (D4). */
  cohort(partition: PartitionId, home: RegionId): Address {
    return this.replica(partition, this.topology.cohort(partition, home).region);
  }
}
