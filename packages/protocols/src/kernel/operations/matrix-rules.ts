/**
 * The DM protocol's rules (Orbe, section 3), which its extensions build on: `seen` is the client's dependency matrix
 * DMc; a version keeps its item dependency timestamp (idt, section 3.4) and its matrix, and travels with both.
 */
import {
  type Deps,
  MAX_TIMESTAMP,
  type PartitionId,
  type QualifiedKey,
  type RegionId,
  type StoredVersion,
  type Timestamp,
  type Version,
  type WallMs,
} from '@isochron/core';
import type { NodeState } from '../node-state.js';
import type { Refusal } from '../transactions/snapshots.js';
import type { Wait } from '../waiting.js';
import { elementsOf, isMatrix, mergedMatrix, NOTHING, needsOf, newestOf, only, rowOf } from './dependency-matrix.js';
import type {
  AdmissionRules,
  Found,
  Need,
  OperationRules,
  PeerUpdate,
  Reach,
  ReplicaPart,
  ReplicaView,
  Stamp,
} from './protocol.js';

export class MatrixRules implements OperationRules {
  readonly entries: OperationRules['entries'] = { seen: 0, snapshot: 0 };
  readonly reach: { readonly get: Reach; readonly put: Reach; readonly rot: Reach } = {
    get: 'keys',
    put: 'keys',
    rot: 'keys',
  };
  readonly admission: AdmissionRules = {
    reads: 'keys',
    needs: (update) => this.#needs(update),
    admitted: (update, replica) => this.admitted(update, replica),
  };
  /** Number of conflicts found, for each partition. */
  readonly #conflicts = new Map<PartitionId, { conflicts: number }>();

  constructor(readonly state: NodeState) {}

  fits(seen: Deps): boolean {
    return isMatrix(seen, this.state.topology);
  }

  newest(seen: Deps): Timestamp {
    return newestOf(seen);
  }

  /** UST covers it: every region has it, with all its dependencies. */
  arrive(seen: Deps): Deps | undefined {
    return newestOf(seen) <= this.state.stable.aggregated ? seen : undefined;
  }

  /** An update lies above its dependencies: so updates never wait for one another in a circle. */
  floor(seen: Deps): Timestamp {
    return newestOf(seen);
  }

  /** Steps 5–7 of a PUT, and idt: `replaced` is the version that the key has here. */
  stamp(seen: Deps, _ts: Timestamp, replaced: () => Version | undefined): Stamp {
    const deps = [replaced()?.ts ?? 0, ...seen];
    return { deps, sent: deps };
  }

  /** "DMc ← 0 … and DMc[n][rid] ← ut". */
  wrote(_seen: Deps, ts: Timestamp, region: RegionId, partition: PartitionId): Deps {
    return only(partition, this.#position(region), ts);
  }

  /** A GET needs a single key; its request carries only the dependencies in the key's partition. */
  narrow(seen: Deps, partition: PartitionId): Deps {
    return rowOf(seen, partition);
  }

  /**
   * The replica has all of it, unless its disk was lost, whose versions may be ahead of its region, or rolled back
   * (D10).
   */
  lacks(seen: Deps, { partition, replication }: ReplicaView, now: WallMs): Wait | undefined {
    const { stable, membership, topology, region } = this.state;
    if (stable.aggregated < membership.incarnation || replication.lags(now)) return 'later';
    const missing = elementsOf(rowOf(seen, partition)).some(({ region: i, ts }) => {
      const source = topology.regions[i]!;
      return (source === region ? replication.vv.applied(source) : replication.vv.durable(source)) < ts;
    });
    return missing ? 'later' : undefined;
  }

  /** The latest version. */
  get(key: QualifiedKey, seen: Deps, replica: ReplicaView): Found {
    const version = replica.versions.at(key, MAX_TIMESTAMP);
    return { version, seen: this.saw(seen, NOTHING, [version ?? null], [key]) };
  }

  choosesAt(): undefined {}

  choose(_seen: Deps, _now: WallMs): Deps | Wait {
    return NOTHING;
  }

  /** DM has no read-only transactions. */
  obstacle(_snapshot: Deps, _replica: ReplicaView, _now: WallMs): Wait | Refusal | undefined {
    return NO_ROTS;
  }

  closes(_snapshot: Deps): Timestamp {
    return 0;
  }

  read(_key: QualifiedKey, _snapshot: Deps, _replica: ReplicaView): Version | undefined {
    return undefined;
  }

  /** "DMc[n][rid] ← max(DMc[n][rid], ut)". */
  saw(seen: Deps, _snapshot: Deps, versions: readonly (Version | null)[], keys: readonly QualifiedKey[]): Deps {
    return versions.reduce<Deps>((matrix, version, i) => {
      if (version === null) return matrix;
      const partition = this.state.topology.partitionOf(keys[i]!);
      return mergedMatrix(matrix, only(partition, this.#position(version.region), version.ts));
    }, seen);
  }

  part({ partition }: ReplicaView): ReplicaPart {
    const counters = { conflicts: 0 };
    this.#conflicts.set(partition, counters);
    return { counters };
  }

  /** Section 3.2, "Update Replication", steps 1 and 2. */
  #needs({ tx }: PeerUpdate): readonly Need[] {
    const matrix = matrixOf(tx.deps);
    return isMatrix(matrix, this.state.topology) ? needsOf(matrix, this.state.topology) : [];
  }

  /** An update is applied in this step. */
  protected admitted(update: PeerUpdate, replica: ReplicaView): void {
    this.#conflicts.get(replica.partition)!.conflicts += this.conflictsOf(update, replica);
  }

  /**
   * Section 3.4: an update is concurrent with the existing version unless it replaced that one where it was written.
   * Returns the number of conflicts.
   */
  protected conflictsOf({ tx, ts, source }: PeerUpdate, { partition, versions, replication }: ReplicaView): number {
    const idt = tx.deps?.[0] ?? 0;
    let conflicts = 0;
    for (const { key, value } of tx.writes) {
      const existing = versions.at(key, MAX_TIMESTAMP);
      if (existing?.ts === ts && existing.txId === tx.txId) continue; // a repetition
      if (!inConflict(idt, existing, replication)) continue;
      conflicts++;
      const update: StoredVersion = { ts, txId: tx.txId, region: source, value };
      this.state.conflict?.({ partition, key, update, existing });
    }
    return conflicts;
  }

  #position(region: RegionId): number {
    return this.state.topology.regions.indexOf(region);
  }
}

/** A version's dependencies, among the entries that it keeps. */
export const matrixOf = (deps: Deps | undefined): Deps => deps?.slice(1) ?? NOTHING;

/**
 * Whether a version, which replaced a version at `idt` where it was written, conflicts with the existing one here. A
 * deletion goes when every region has it (P9), at different times in different regions: that is no conflict.
 */
export function inConflict(
  idt: Timestamp,
  existing: Version | undefined,
  { gcFloor, state }: ReplicaView['replication'],
): boolean {
  if (existing === undefined) return idt > gcFloor;
  const goes = existing.value === null && existing.ts <= state.stable.aggregated;
  return existing.ts !== idt && !(goes && idt === 0);
}

const NO_ROTS: Refusal = {
  code: 'NOT_SUPPORTED_BY_PROTOCOL',
  detail: 'This protocol has no read-only transactions; read one key after the other.',
};
