/**
 * Blocking Partial Replication, the competitor of the PaRiS paper (section V, "Competitor systems"): one timestamp as
 * PaRiS, but the freshest one that there is, so that a read waits until its replica has applied everything up to it.
 *
 * Invariant: BP1 an assigned snapshot does not lie above the node's clock: every node that receives it soon reaches it.
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

/** Transactional causal consistency with partial replication and reads that wait. */
export const bpr: TransactionProtocol = {
  name: 'bpr',
  rules: (state) => new FreshSnapshots(state),
  reading,
};

class FreshSnapshots extends TimestampSnapshots {
  #highestAssigned: Timestamp = 0;

  /** The maximum of what the client has seen and the coordinator's clock. */
  assign({ ts: seen }: Snapshot, now: WallMs): Snapshot {
    return this.#assigned(Math.max(seen, this.state.clock.read(now)));
  }

  /** No client can name a future snapshot and drive the clocks there. */
  confirm({ ts }: Snapshot, now: WallMs): Snapshot | undefined {
    refuseCollected(ts, this.state);
    return ts > this.state.clock.read(now) ? undefined : this.#assigned(ts);
  }

  /** Clocks follow at once, so no read waits for a slow one. The snapshot is no stable time. */
  observeSnapshot({ ts }: Snapshot): void {
    this.state.clock.observe(ts);
  }

  invariants(): void {
    const { last } = this.state.clock;
    invariant(this.#highestAssigned <= last, () => `BP1: assigned ${this.#highestAssigned}, clock ${last}`);
  }

  #assigned(ts: Timestamp): Snapshot {
    this.state.clock.observe(ts);
    this.#highestAssigned = Math.max(this.#highestAssigned, ts);
    return { ts };
  }
}

/**
 * "A partition blocks a read operation with snapshot timestamp t until it has applied all local and remote transactions
 * […] up to t."
 */
function reading({ partition, replication }: ReplicaView, { reader }: NodeState): ReadRules {
  return {
    ...byTimestamp(partition, reader),
    obstacle: ({ ts }) => {
      if (ts < replication.gcFloor) return TOO_OLD;
      return ts <= replication.vv.durableMin ? undefined : 'later';
    },
  };
}
