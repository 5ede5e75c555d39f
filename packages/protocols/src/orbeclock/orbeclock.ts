/**
 * Orbe's DM-Clock protocol (Du, Elnikety, Roy, Zwaenepoel: _Orbe: Scalable Causal Consistency Using Dependency Matrices
 * and Physical Clocks_, SoCC 2013, sections 4 and 5.2): the DM protocol with physical timestamps, and read-only
 * transactions (GET-TX) at a snapshot timestamp that wait for clocks and for the physical version vector (PVV).
 *
 * `seen` is the matrix DMc; its greatest element is PDTc, because a version's update timestamp is its physical one. A
 * snapshot is one timestamp.
 */
import {
  type Deps,
  HLC_TICKS_PER_MS,
  type QualifiedKey,
  type Timestamp,
  type Version,
  type WallMs,
  wallOf,
} from '@isochron/core';
import { PhysicalNodeClock } from '../kernel/node-clock.js';
import { matrixSession, newestOf } from '../kernel/operations/dependency-matrix.js';
import { MatrixRules } from '../kernel/operations/matrix-rules.js';
import type { OperationProtocol, ReplicaView } from '../kernel/operations/protocol.js';
import { type Refusal, TOO_OLD } from '../kernel/transactions/snapshots.js';
import type { Wait } from '../kernel/waiting.js';

/**
 * A GET-TX that takes longer is executed again with a smaller snapshot timestamp: well above the way to the farthest
 * region.
 */
export const PATIENCE_MS = 500;

class OrbeClockRules extends MatrixRules {
  override readonly entries = { seen: 0, snapshot: 1 };
  readonly patience = {
    ms: PATIENCE_MS,
    /** Every replica has everything up to UST; what the client depends on must be in its snapshot. */
    smaller: (seen: Deps, [st = 0]: Deps): Deps | undefined => {
      const smaller = this.#atLeast(seen);
      return smaller < st ? [smaller] : undefined;
    },
  };

  /** `st ← Clock − Δ`, and nothing below what the client depends on (PDTc). */
  override choose(seen: Deps, now: WallMs): Deps {
    const delta = this.state.settings.applyIntervalMs * HLC_TICKS_PER_MS;
    return [Math.max(this.state.clock.physical(now) - delta, this.#atLeast(seen))];
  }

  /** "1) Clock > st; 2) min({PVV[i] | i ≠ m}) > st". */
  override obstacle([st = 0]: Deps, { replication }: ReplicaView, now: WallMs): Wait | Refusal | undefined {
    if (st < replication.gcFloor) return TOO_OLD;
    const { clock, stable, membership, topology, region } = this.state;
    if (clock.read(now) < st) return { notBefore: Math.max(Math.floor(wallOf(st)), now) + 1 };
    if (stable.aggregated < membership.incarnation) return 'later';
    const { vv } = replication;
    return topology.regions.some((other) => other !== region && vv.durable(other) < st) ? 'later' : undefined;
  }

  /** Later writes here lie above the snapshot: the clock has passed it. */
  override closes([st = 0]: Deps): Timestamp {
    return st;
  }

  /** "the latest version d such that put ≤ st". */
  override read(key: QualifiedKey, [st = 0]: Deps, { versions }: ReplicaView): Version | undefined {
    return versions.at(key, st);
  }

  /** No snapshot lies below what the client depends on, nor below what every region has. */
  #atLeast(seen: Deps): Timestamp {
    return Math.max(newestOf(seen), this.state.stable.value);
  }
}

/**
 * Causal consistency with read-only transactions of one round; PUTs wait for clocks that are behind, GET-TXs for clocks
 * and for other regions.
 */
export const orbeClock: OperationProtocol = {
  name: 'orbe-clock',
  Clock: PhysicalNodeClock,
  session: matrixSession,
  rules: (state) => new OrbeClockRules(state),
};
