/**
 * Snapshots with one entry for each region, in the order of the cluster file: the common part of Cure and H-Cure
 * (Akkoorath et al., _Cure: Strong Semantics Meets High Availability and Low Latency_, ICDCS 2016, as the baseline of
 * the Wren paper describes it).
 *
 * A snapshot vector SV contains, of each region, everything up to the commit timestamp in the region's entry. A
 * version's dependency vector DV is the snapshot vector of its transaction with the commit timestamp in its own
 * region's entry. A version is visible when DV <= SV, entry by entry. The `ts` of such a snapshot is its highest entry:
 * it never falls, whatever region a session is in. A timestamp without entries stands for the vector that has it
 * everywhere.
 */
import {
  type Belongs,
  type Deps,
  invariant,
  type PartitionId,
  type RegionId,
  type Timestamp,
  type Topology,
  type WallMs,
} from '@isochron/core';
import type { NodeState } from '../node-state.js';
import { entrywiseMin } from '../replication/regional-times.js';
import type { Replication } from '../replication/replication.js';
import type { Wait } from '../waiting.js';
import { notFullyReplicated } from './full-replication.js';
import { byRule } from './reading.js';
import {
  type ReadRules,
  type Refusal,
  type ReplicaView,
  type Snapshot,
  type SnapshotRules,
  TOO_OLD,
  type TransactionProtocol,
} from './snapshots.js';
import { refuseCollected } from './timestamp-snapshots.js';

/** How a protocol measures the entry of its own region: the only difference between Cure and H-Cure. */
export interface LocalTime {
  /** A coordinator's clock. */
  read(now: WallMs): Timestamp;
  /** Why a replica's clock has not passed a coordinator's. */
  behind(local: Timestamp, now: WallMs): Wait | undefined;
}

/** A protocol whose snapshots are vectors. */
export function vectorProtocol(
  { name, Clock }: Pick<TransactionProtocol, 'name' | 'Clock'>,
  timeOf: (state: NodeState) => LocalTime,
): TransactionProtocol {
  return {
    name,
    ...(Clock === undefined ? {} : { Clock }),
    unsupported: notFullyReplicated,
    entries: ({ regions }) => regions.length,
    regional: { size: ({ regions }) => regions.length, own: installed },
    rules: (state) => new VectorSnapshots(state, timeOf(state)),
    reading: (replica, state) => new VectorReading(replica, state, timeOf(state)).rules,
  };
}

/** The region's GSS is the minimum of this over its nodes. */
function installed(replicas: readonly Replication[], { topology }: Pick<NodeState, 'topology'>): Deps {
  return entrywiseMin(replicas.map(({ vv }) => topology.regions.map((region) => vv.durable(region))));
}

/** A snapshot's entries. */
const entriesOf = ({ ts, deps }: Snapshot, { regions }: Topology): Deps => deps ?? regions.map(() => ts);

const snapshotOf = (deps: Deps): Snapshot => ({ ts: Math.max(...deps), deps });

class VectorSnapshots implements SnapshotRules {
  readonly cohortsAtHome = true;
  readonly #local: number;

  constructor(
    readonly state: NodeState,
    readonly time: LocalTime,
  ) {
    this.#local = state.topology.regions.indexOf(state.region);
  }

  /**
   * The local entry is the coordinator's clock, and the remote ones are the region's installed times. No entry lies
   * below the client's `seen`: replicas wait for missing versions. Nor does one lie below UST, which every replica has:
   * so no version that the snapshot needs is collected (P9), even while a restarted node has no times of its region
   * yet.
   *
   * Writes of a region with a fast clock are left out until the local entry has passed them: the commit must lie above
   * all entries (P6), and would drag the local clocks along.
   */
  assign(seen: Snapshot, now: WallMs): Snapshot {
    const { stable, regional, topology } = this.state;
    const entries = entriesOf(seen, topology);
    const local = Math.max(entries[this.#local]!, this.time.read(now), stable.value);
    const assigned = entries.map((ts, i) => Math.max(ts, stable.value, Math.min(regional.entries[i]!, local)));
    assigned[this.#local] = local;
    return snapshotOf(assigned);
  }

  confirm(at: Snapshot, now: WallMs): Snapshot | undefined {
    refuseCollected(this.oldest(at), this.state);
    const entries = entriesOf(at, this.state.topology);
    return entries[this.#local]! > this.time.read(now) ? undefined : snapshotOf(entries);
  }

  /** The vector of one region does not show the times of others. */
  observeSnapshot(): void {}

  oldest({ ts, deps }: Snapshot): Timestamp {
    return deps === undefined ? ts : Math.min(...deps);
  }

  newest({ ts, deps = [] }: Snapshot): Timestamp {
    return Math.max(ts, ...deps);
  }

  depsOf(snapshot: Snapshot): Deps {
    return entriesOf(snapshot, this.state.topology);
  }

  stamp(deps: Deps | undefined, ct: Timestamp, source: RegionId): Deps {
    return this.state.topology.regions.map((region, i) => (region === source ? ct : (deps?.[i] ?? 0)));
  }

  /** A snapshot of this region. */
  sources(_partition: PartitionId): readonly RegionId[] {
    return [this.state.region];
  }

  invariants(): void {}
}

/**
 * The versions that belong to a snapshot, and whether a replica has all of them.
 *
 * Invariant: VR1 no transaction is prepared, or committed and not applied, at or below the local entry of an answered
 * snapshot: it would be missing from the answer.
 */
class VectorReading {
  readonly #local: number;
  #answered: Timestamp = 0;

  constructor(
    readonly replica: ReplicaView,
    readonly state: NodeState,
    readonly time: LocalTime,
  ) {
    this.#local = state.topology.regions.indexOf(state.region);
  }

  get rules(): ReadRules {
    return {
      ...byRule(this.replica.partition, this.state.reader, (snapshot) => this.#belongs(snapshot)),
      obstacle: (snapshot, now) => this.#obstacle(snapshot, now),
    };
  }

  #obstacle(snapshot: Snapshot, now: WallMs): Wait | Refusal | undefined {
    const entries = entriesOf(snapshot, this.state.topology);
    if (Math.min(...entries) < this.replica.replication.gcFloor) return TOO_OLD;
    const local = entries[this.#local]!;
    // Writes of this region may be nowhere else: a disk that may be an old one cannot answer for them (D10).
    if (this.replica.replication.suspects(now)) return 'later';
    const wait = this.time.behind(local, now) ?? this.#missing(entries, local);
    if (wait !== undefined) return wait;
    // Later proposals lie above, so the answer stays true; with the ceiling that holds after a crash too (D7).
    this.state.clock.advance(local);
    this.#answered = Math.max(this.#answered, local);
    return undefined;
  }

  #missing(entries: Deps, local: Timestamp): Wait | undefined {
    const { replication } = this.replica;
    const pending = this.#pending();
    invariant(pending > this.#answered, () => `VR1: ${pending} is pending, and ${this.#answered} was answered`);
    if (Math.min(pending, replication.undurable ?? Number.POSITIVE_INFINITY) <= local) return 'later';
    if (local > this.state.clock.ceiling) return 'later';
    const { regions } = this.state.topology;
    const behind = entries.some((ts, i) => i !== this.#local && replication.vv.durable(regions[i]!) < ts);
    return behind ? 'later' : undefined;
  }

  /** The lowest timestamp at which an unapplied transaction can end. */
  #pending(): Timestamp {
    const { prepared, committed } = this.replica;
    return Math.min(prepared.minPt() ?? Number.POSITIVE_INFINITY, committed.minCt() ?? Number.POSITIVE_INFINITY);
  }

  /** A commit timestamp lies above every entry of its snapshot (P6): below the lowest entry all is visible. */
  #belongs(snapshot: Snapshot): Belongs {
    const entries = entriesOf(snapshot, this.state.topology);
    const lowest = Math.min(...entries);
    return ({ ts, deps }) => ts <= lowest || (deps?.every((dep, i) => dep <= entries[i]!) ?? false);
  }
}
