/**
 * COPS-GT (Lloyd, Freedman, Kaminsky, Andersen: _Don't Settle for Eventual: Scalable Causal Consistency for Wide-Area
 * Storage with COPS_, SOSP 2011), the baseline of Orbe's section 7.5: a version carries the complete list of the
 * versions that it depends on, remote updates wait for dependency checks, and read-only transactions read a key again
 * when another key's dependencies demand a later version.
 */
import {
  type Dependency,
  type Deps,
  MAX_TIMESTAMP,
  type PartitionId,
  type QualifiedKey,
  type Version,
} from '@isochron/core';
import { NodeClock } from '../kernel/node-clock.js';
import type { NodeState } from '../kernel/node-state.js';
import { needsOf } from '../kernel/operations/named.js';
import { NamedDependencyRules, type NamedProtocol } from '../kernel/operations/named-rules.js';
import { above } from '../kernel/operations/named-sessions.js';
import type {
  AdmissionRules,
  Demand,
  OperationProtocol,
  PeerUpdate,
  ReplicaPart,
  ReplicaView,
} from '../kernel/operations/protocol.js';
import { copsGtSession, far } from './session.js';

/** The dependencies of a transaction that takes longer may have been dropped (section 5.3). */
const TRANSACTION_MS = 5_000;

class CopsGt implements NamedProtocol {
  readonly reach = { get: 'keys', rot: 'keys' } as const;
  readonly rotMs = TRANSACTION_MS;
  readonly rotsHaveIds = false;
  readonly admission: AdmissionRules;
  /** The number of dependencies of peers' updates, by the receiving replica. */
  readonly #counters = new Map<PartitionId, { dependencies: number }>();

  constructor(readonly state: NodeState) {
    this.admission = { needs: (update, replica) => this.#needs(update, replica) };
  }

  part({ partition }: ReplicaView, round: () => void): ReplicaPart {
    const counters = { dependencies: 0 };
    this.#counters.set(partition, counters);
    return { counters, round };
  }

  /** `get_by_version(key, LATEST)`. */
  get(key: QualifiedKey, { versions }: ReplicaView): Version | undefined {
    return versions.at(key, MAX_TIMESTAMP);
  }

  /** The first round of `get_trans` is the same. */
  read(key: QualifiedKey, _at: number, replica: ReplicaView): Version | undefined {
    return this.get(key, replica);
  }

  behind({ depends = [] }: Version, horizon: number): readonly Dependency[] {
    return above(depends, horizon).map(far);
  }

  /**
   * The causally correct version of each key (`ccv`): the newest of the version read and the others' dependencies.
   *
   * A version that an earlier try has requested in vain was lost with a disk. All before it was there by then, so this
   * try has read nothing older.
   */
  demands(
    keys: readonly QualifiedKey[],
    versions: readonly (Version | null)[],
    absent: readonly Demand[],
  ): readonly Demand[] {
    const depends = versions.flatMap((version) => version?.depends ?? []);
    return keys.flatMap((key, position) => {
      const lost = absent.filter((demand) => demand.position === position);
      const wanted = this.#correct(
        versions[position] ?? null,
        depends.filter((one) => one.key === key && !lost.some((demand) => names(demand, one))),
      );
      return wanted === undefined ? [] : [{ position, wanted }];
    });
  }

  /** Undefined where that was read. Several versions may have the same time: their replica orders them. */
  #correct(read: Version | null, depends: readonly Dependency[]): Deps | undefined {
    const newest = Math.max(0, ...depends.map(({ ts }) => ts));
    if (newest === 0 || (read !== null && newest < read.ts)) return undefined;
    const own = read?.ts === newest ? this.state.topology.regions.indexOf(read.region) : undefined;
    const sources = new Set(depends.flatMap(({ ts, source }) => (ts === newest ? [source] : [])));
    if (own !== undefined) sources.add(own);
    if (own !== undefined && sources.size === 1) return undefined;
    return [...sources].flatMap((source) => [source, newest]);
  }

  /** `dep_check` of the nearest: they are here with all that they depend on. */
  #needs({ tx: { depends = [] } }: PeerUpdate, { partition }: ReplicaView) {
    this.#counters.get(partition)!.dependencies += depends.length;
    return needsOf(
      depends.filter(({ near }) => near),
      this.state.topology,
    );
  }
}

const names = ({ wanted }: Demand, { source, ts }: Dependency): boolean =>
  wanted.some((entry, i) => i % 2 === 0 && entry === source && wanted[i + 1] === ts);

/** Causal consistency with complete dependency lists; ROTs of at most two rounds and two versions, which never wait. */
export const copsGt: OperationProtocol = {
  name: 'cops-gt',
  Clock: NodeClock,
  session: copsGtSession,
  rules: (state) => new NamedDependencyRules(state, new CopsGt(state)),
};
