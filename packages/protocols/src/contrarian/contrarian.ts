/**
 * Contrarian (Didona, Guerraoui, Wang, Zwaenepoel: _Causal Consistency and Latency Optimality: Friend or Foe?_, VLDB
 * 2018, appendix A): a dependency vector with one entry for each region, hybrid clocks, and read-only transactions of
 * two rounds that never wait.
 *
 * `seen` is the client's DVc; a snapshot is SV.
 */
import type { Deps, PartitionId, QualifiedKey, RegionId, Timestamp, Version, WallMs } from '@isochron/core';
import { NodeClock } from '../kernel/node-clock.js';
import type { NodeState } from '../kernel/node-state.js';
import { covered, installed, lacksRemote, stableEntries, withEntry } from '../kernel/operations/entries.js';
import type { Found, OperationProtocol, OperationRules, ReplicaView, Stamp } from '../kernel/operations/protocol.js';
import { entrywiseMax } from '../kernel/operations/session.js';
import { type Refusal, TOO_OLD } from '../kernel/transactions/snapshots.js';
import type { Wait } from '../kernel/waiting.js';

class ContrarianRules implements OperationRules {
  readonly entries: OperationRules['entries'];
  /** Any version may be the freshest with `DV <= SV`. */
  readonly reach = { get: 'chains', rot: 'chains' } as const;
  /** Position of the own region (the paper's m). */
  readonly #m: number;
  /** Coordinators are taken in turn, where the paper draws them at random: the same load on each. */
  #turn = 0;

  constructor(readonly state: NodeState) {
    const { regions } = state.topology;
    this.entries = { seen: regions.length, snapshot: regions.length };
    this.#m = regions.indexOf(state.region);
  }

  newest(seen: Deps): Timestamp {
    return Math.max(...seen);
  }

  /** Only entries of other regions are waited for: the own one moves the clock. */
  arrive(seen: Deps): Deps | undefined {
    const gss = stableEntries(this.state);
    return seen.every((ts, i) => i === this.#m || ts <= gss[i]!) ? seen : undefined;
  }

  /** Alg. 2 line 2. */
  floor(seen: Deps): Timestamp {
    return Math.max(...seen);
  }

  /** Alg. 2 line 6: the whole vector goes with the version, here and to the other regions. */
  stamp(seen: Deps, ts: Timestamp): Stamp {
    const deps = withEntry(seen, this.#m, ts);
    return { deps, sent: deps };
  }

  /** Alg. 1 line 4. */
  wrote(seen: Deps, ts: Timestamp, region: RegionId): Deps {
    return withEntry(seen, this.state.topology.regions.indexOf(region), ts);
  }

  lacks(seen: Deps, { replication }: ReplicaView): Wait | undefined {
    return lacksRemote(seen, replication);
  }

  /** A ROT of one key, whose partition is its coordinator: one round is enough. */
  get(key: QualifiedKey, seen: Deps, replica: ReplicaView, now: WallMs): Found {
    const snapshot = this.choose(seen, now);
    return { version: this.read(key, snapshot, replica), seen: snapshot };
  }

  /** Alg. 1 line 9. */
  choosesAt(partitions: readonly PartitionId[]): PartitionId | undefined {
    return partitions[this.#turn++ % partitions.length];
  }

  /** Alg. 2 lines 15–19: the region's GSS, the own clock, and nothing below what the client has seen. */
  choose(seen: Deps, now: WallMs): Deps {
    const known = withEntry(stableEntries(this.state), this.#m, this.state.clock.read(now));
    return entrywiseMax(known, seen);
  }

  obstacle(snapshot: Deps, { replication }: ReplicaView): Wait | Refusal | undefined {
    if (Math.min(...snapshot) < replication.gcFloor) return TOO_OLD;
    return lacksRemote(snapshot, replication);
  }

  /** Alg. 2 line 21: later writes lie above the snapshot. */
  closes(snapshot: Deps): Timestamp {
    return snapshot[this.#m]!;
  }

  /** Alg. 2 lines 24–27. */
  read(key: QualifiedKey, snapshot: Deps, { versions }: ReplicaView): Version | undefined {
    return versions.find(key, ({ deps }) => deps !== undefined && covered(deps, snapshot));
  }

  /** Alg. 1 line 12. */
  saw(seen: Deps, snapshot: Deps): Deps {
    return entrywiseMax(seen, snapshot);
  }
}

/** Causal consistency; ROTs take two rounds, carry one version of a key and never wait; a PUT is one message. */
export const contrarian: OperationProtocol = {
  name: 'contrarian',
  Clock: NodeClock,
  regional: { size: ({ regions }) => regions.length, own: installed },
  rules: (state) => new ContrarianRules(state),
};
