/**
 * The common part of protocols whose dependencies name keys (COPS-GT, COPS-SNOW). Sessions carry the highest timestamp
 * that they have seen, and the time up to which dependencies are dropped. ROTs begin at a logical time, ask every
 * partition for its versions, and begin anew when they take too long.
 *
 * A ROT's answers fit together only if nothing that it relies on was dropped meanwhile. A node drops it a window after
 * the ROT began, by a clock that travels with every message (T2). So a ROT that could have received a different answer
 * finds its own clock past the window, and begins anew.
 */
import type { Dependency, Deps, QualifiedKey, RegionId, Timestamp, TxId, Version, WallMs } from '@isochron/core';
import { isTxId } from '@isochron/core';
import type { NodeState } from '../node-state.js';
import type { Wait } from '../waiting.js';
import type { OperationRequest, Slice } from './messages.js';
import { LongStable, passed, plausible } from './named.js';
import { seenOf, seenPartsOf } from './named-sessions.js';
import type {
  AdmissionRules,
  Demand,
  Found,
  NamedRules,
  OperationRules,
  Reach,
  ReplicaPart,
  ReplicaView,
  Stamp,
} from './protocol.js';

/** Dependencies that are in every region are dropped after this time: COPS' limit for transactions, and one second. */
const DROPPED_AFTER_MS = 6_000;

/** The part that depends on the protocol. */
export interface NamedProtocol {
  readonly reach: { readonly get: Reach; readonly rot: Reach; readonly put?: Reach };
  /** How long a ROT may take. */
  readonly rotMs: number;
  readonly rotsHaveIds: boolean;
  get(key: QualifiedKey, replica: ReplicaView): Version | undefined;
  read(key: QualifiedKey, at: Timestamp, replica: ReplicaView, rot: TxId | undefined): Version | undefined;
  /** Further dependencies of a session that reads a version, besides the version itself. */
  behind(version: Version, horizon: Timestamp): readonly Dependency[];
  readonly admission: AdmissionRules;
  /** @param round the protocol's work in every round */
  part(replica: ReplicaView, round: () => void): ReplicaPart;
  demands?(
    keys: readonly QualifiedKey[],
    versions: readonly (Version | null)[],
    absent: readonly Demand[],
  ): readonly Demand[];
  outlives?(at: Timestamp): Timestamp;
}

export class NamedDependencyRules implements OperationRules {
  readonly entries = { seen: 3, snapshot: 1 };
  readonly reach: OperationRules['reach'];
  readonly named: NamedRules;
  readonly admission: AdmissionRules;
  readonly part: (replica: ReplicaView) => ReplicaPart;
  readonly demands: NonNullable<OperationRules['demands']>;
  readonly outlives: (snapshot: Deps) => Timestamp;
  readonly #longStable: LongStable;

  constructor(
    readonly state: NodeState,
    readonly protocol: NamedProtocol,
  ) {
    this.reach = protocol.reach;
    this.admission = protocol.admission;
    this.part = (replica) => protocol.part(replica, () => this.#longStable.sample());
    this.demands = (keys, versions, absent) => protocol.demands?.(keys, versions, absent) ?? [];
    this.outlives = ([at = 0]) => protocol.outlives?.(at) ?? 0;
    this.#longStable = new LongStable(state, DROPPED_AFTER_MS);
    this.named = {
      saw: (keys, versions) => keys.flatMap((key, i) => this.#saw(key, versions[i] ?? null)),
      wrote: (key, ts, region) => [this.#dependency(key, ts, region)],
    };
  }

  newest(seen: Deps): Timestamp {
    return Math.max(...seen);
  }

  /** Everything stable is in every region, so the dependencies need not be looked at. */
  arrive(seen: Deps): Deps | undefined {
    return seenPartsOf(seen).highest <= this.state.stable.aggregated ? seen : undefined;
  }

  /** Above everything that the session has seen, and above the clock by which it has dropped dependencies. */
  floor(seen: Deps): Timestamp {
    return Math.max(...seen);
  }

  stamp(): Stamp {
    return {};
  }

  wrote(seen: Deps, ts: Timestamp): Deps {
    return seenOf({ ...seenPartsOf(seen), highest: ts });
  }

  /**
   * Everything that a session of this region has seen is here, unless a disk was lost since, or was rolled back (D10).
   */
  lacks(_seen: Deps, { replication }: ReplicaView, now: WallMs): Wait | undefined {
    const { stable, membership } = this.state;
    return stable.aggregated < membership.incarnation || replication.lags(now) ? 'later' : undefined;
  }

  get(key: QualifiedKey, seen: Deps, replica: ReplicaView): Found {
    const version = this.protocol.get(key, replica);
    return { version, seen: this.#seenAfter(seen, [version]) };
  }

  /** The client's node takes the part of the papers' client library. */
  choosesAt(): undefined {}

  /** The ROT's logical time. */
  choose(_seen: Deps, now: WallMs): Deps {
    const at = this.state.clock.read(now);
    this.state.clock.advance(at);
    return [at];
  }

  obstacle(snapshot: Deps, replica: ReplicaView, now: WallMs): Wait | undefined {
    return this.lacks(snapshot, replica, now);
  }

  /** An answer promises nothing about later PUTs. */
  closes(): Timestamp {
    return 0;
  }

  read(key: QualifiedKey, [at = 0]: Deps, replica: ReplicaView, rot: TxId | undefined): Version | undefined {
    return this.protocol.read(key, at, replica, rot);
  }

  saw(seen: Deps, _snapshot: Deps, versions: readonly (Version | null)[]): Deps {
    return this.#seenAfter(seen, versions);
  }

  expired([at = 0]: Deps): boolean {
    return passed(at, this.protocol.rotMs, this.state);
  }

  sensible(request: OperationRequest | Slice): boolean {
    if (request.type === 'RotReq' || request.type === 'RotSliceReq') {
      return !this.protocol.rotsHaveIds || (request.id !== undefined && isTxId(request.id));
    }
    if (request.type !== 'PutReq' && request.type !== 'PutSliceReq') return true;
    return plausible(request.depends ?? [], this.state.topology, seenPartsOf(request.seen).highest);
  }

  #seenAfter(seen: Deps, versions: readonly (Version | null | undefined)[]): Deps {
    const before = seenPartsOf(seen);
    return seenOf({
      highest: Math.max(before.highest, ...versions.map((version) => version?.ts ?? 0)),
      horizon: Math.max(before.horizon, this.#longStable.upTo),
      clock: this.state.clock.last,
    });
  }

  #saw(key: QualifiedKey, version: Version | null): readonly Dependency[] {
    if (version === null) return [];
    const horizon = this.#longStable.upTo;
    return [this.#dependency(key, version.ts, version.region), ...this.protocol.behind(version, horizon)];
  }

  #dependency(key: QualifiedKey, ts: Timestamp, region: RegionId): Dependency {
    return { key, source: this.state.topology.regions.indexOf(region), ts, near: true };
  }
}
