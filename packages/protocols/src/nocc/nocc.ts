/**
 * No causal consistency, the other baseline of the PaRiS paper (section V): the cost of causality is measured against
 * it. A read returns the latest version on its replica's disk; there is no snapshot. Writes of a transaction are all
 * made or none, but become visible one by one.
 */
import type { StoredVersion, WallMs } from '@isochron/core';
import type { NodeState } from '../kernel/node-state.js';
import { byRule } from '../kernel/transactions/reading.js';
import type { ReadRules, ReplicaView, Snapshot, TransactionProtocol } from '../kernel/transactions/snapshots.js';
import { TimestampSnapshots } from '../kernel/transactions/timestamp-snapshots.js';

/** Claims neither causality nor atomic visibility, only that replicas converge. */
export const nocc: TransactionProtocol = {
  name: 'nocc',
  rules: (state) => new NoSnapshots(state),
  reading,
};

/** The timestamp is the node's UST: it bounds when a commit was first sent (D5), and has no effect on reads. */
class NoSnapshots extends TimestampSnapshots {
  assign({ ts }: Snapshot, _now: WallMs): Snapshot {
    return { ts: Math.max(ts, this.state.stable.value) };
  }

  confirm(at: Snapshot): Snapshot {
    return at;
  }

  observeSnapshot(): void {}

  invariants(): void {}
}

/** It never waits. Versions that the store shows but the disk does not have yet are skipped (D1). */
function reading({ partition, replication: { vv } }: ReplicaView, { reader }: NodeState): ReadRules {
  const durable = ({ ts, region }: StoredVersion) => vv.has(region) && ts <= vv.durable(region);
  return {
    ...byRule(partition, reader, () => durable),
    /** The newest versions, in nearly all cases the very newest: no chain is traversed. */
    needs: (keys) => ({ kind: 'keys', partition, keys }),
    obstacle: () => undefined,
  };
}
