/**
 * The snapshots of PaRiS (Algorithm 2 lines 1–5, Algorithm 3 lines 1–8): the universal stable time, a timestamp up
 * to which every region has everything. So every replica has the snapshot, and no read ever waits.
 *
 * Invariant: PC1 an assigned snapshot is at least the client's `ust` and at most this node's stable time.
 */
import { invariant, type Timestamp, type WallMs } from '@isochron/core';
import type { NodeState } from '../kernel/node-state.js';
import { byTimestamp } from '../kernel/transactions/reading.js';
import {
  type ReadRules,
  type ReplicaView,
  type Snapshot,
  TOO_OLD,
  type TransactionProtocol,
} from '../kernel/transactions/snapshots.js';
import { refuseCollected, TimestampSnapshots } from '../kernel/transactions/timestamp-snapshots.js';

/** Transactional causal consistency with partial replication and reads that never wait. */
export const paris: TransactionProtocol = {
  name: 'paris',
  stableSnapshots: true,
  rules: (state) => new StableSnapshots(state),
  reading,
};

class StableSnapshots extends TimestampSnapshots {
  #highestAssigned: Timestamp = 0;

  /** Alg. 2 lines 2–4, bounded by P5. */
  assign({ ts: ust }: Snapshot): Snapshot | undefined {
    const { stable } = this.state;
    this.observeSnapshot({ ts: ust });
    return ust > stable.value ? undefined : this.#assigned(stable.value);
  }

  /** A time that a caller names may be no stable time, or one of a higher map: it is waited for, not learnt (M6). */
  confirm({ ts }: Snapshot, _now: WallMs, seen: Timestamp): Snapshot | undefined {
    const { stable } = this.state;
    this.observeSnapshot({ ts: seen });
    if (ts > stable.value) return undefined;
    refuseCollected(ts, this.state);
    return this.#assigned(ts);
  }

  /**
   * A transaction's snapshot is stable: a node that receives it may use it too, as far as its own vectors go (P5).
   * While the node is sealed, the snapshot may belong to the next map (M2).
   */
  observeSnapshot({ ts }: Snapshot): void {
    if (!this.state.maps.isSealed) this.state.stable.learn(ts);
  }

  invariants(): void {
    const { value } = this.state.stable;
    invariant(this.#highestAssigned <= value, () => `PC1: assigned ${this.#highestAssigned}, stable time ${value}`);
  }

  #assigned(ts: Timestamp): Snapshot {
    this.#highestAssigned = Math.max(this.#highestAssigned, ts);
    return { ts };
  }
}

function reading({ partition, replication }: ReplicaView, { reader }: NodeState): ReadRules {
  return {
    ...byTimestamp(partition, reader),
    /** Alg. 3 line 2 installs a received snapshot; here a replica that has not recovered that far refuses it (P5). */
    obstacle: ({ ts }) => {
      if (ts < replication.gcFloor) return TOO_OLD;
      return ts <= replication.vv.durableMin ? undefined : NOT_RECOVERED;
    },
  };
}

const NOT_RECOVERED = {
  code: 'SNAPSHOT_UNAVAILABLE',
  detail: 'This replica has not recovered up to the snapshot yet; try again.',
} as const;
