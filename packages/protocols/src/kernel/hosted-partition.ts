/**
 * A partition as one node hosts it, under every protocol: the server p^m_n of the papers without its operations. It
 * recovers from the disk or from the copies of peers, replicates, publishes its version clock in rounds, keeps the
 * outcomes of its writes, and raises the horizons below which data are dropped. The replicas of both families own one
 * and add their operations.
 *
 * PaRiS Algorithm 4 lines 5–8 (the bound of a round, with P1); P9 and D5 (garbage collection), D7 and D10 (recovery).
 */
import { type PartitionId, packWall, type ReadNeeds, type Timestamp, type WallMs } from '@isochron/core';
import type { Address, Effects, WriteSeq } from '../machine.js';
import { type NodeState, replicaName } from './node-state.js';
import { Outcomes } from './outcomes.js';
import type { Gate } from './replication/gate.js';
import type { ReadCopy, ReadUnstable, ReplayLog, ReplicationMessage } from './replication/messages.js';
import type { RebuiltReplica, RecoveredReplica } from './replication/replica-state.js';
import type { Written } from './replication/replica-writer.js';
import { Replication } from './replication/replication.js';
import { StableHistory } from './stable-history.js';

type Out = Effects<ReplicationMessage>;

/** What depends on versions that become visible, and what peers' groups have to wait for. */
export interface Applying {
  readonly written?: Written | undefined;
  readonly gate?: Gate | undefined;
}

export class HostedPartition {
  readonly self: Address;
  readonly replication: Replication;
  /** How the writes of the partition ended (D4, D5). */
  readonly outcomes: Outcomes;
  readonly #stable = new StableHistory();

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    recovered: RecoveredReplica,
    { written, gate }: Applying = {},
  ) {
    this.self = { node: state.node, machine: replicaName(partition) };
    this.outcomes = new Outcomes(partition, state, recovered.forgottenUpTo);
    const received = (now: WallMs) => state.activity.touch(now);
    this.replication = new Replication(partition, state, recovered, this.outcomes, received, written, gate);
  }

  /** Starts its work with data that were copied from its peers, durably (D10). */
  join(rebuilt: RebuiltReplica, now: WallMs, out: Out): void {
    this.outcomes.join(rebuilt.forgottenUpTo);
    this.replication.join(rebuilt, now, out);
  }

  /** A stable time: versions, log entries and outcomes are dropped below stable times only. */
  get droppedUpTo(): Timestamp {
    return Math.max(this.outcomes.forgottenUpTo, this.replication.droppedUpTo);
  }

  persisted(upTo: WriteSeq): void {
    this.replication.persisted(upTo);
    this.outcomes.persisted(upTo);
  }

  /**
   * The version clock of this round (Alg. 4 lines 5–8). The node's clock moves above it (P1).
   *
   * @param limit every write that this replica has not applied lies above
   * @returns undefined if the version clock stays, as it does without data and while the disk is being verified (D10)
   */
  nextVersionClock(now: WallMs, limit: Timestamp, out: Out): Timestamp | undefined {
    const { clock, membership } = this.state;
    if (!membership.joined || this.replication.suspects(now)) return undefined;
    const bound = Math.min(limit, clock.publishable(now, out));
    if (bound <= this.replication.versionClock) return undefined;
    clock.advance(bound);
    return bound;
  }

  /** P9 and D5: garbage below the floor, log entries below UST, outcomes below the retention. */
  collect(now: WallMs, out: Out): void {
    const { stable, settings, membership } = this.state;
    if (!membership.joined) return;
    const { retentionMs } = settings;
    const kept = packWall(this.state.drift.stampable(now) - retentionMs);
    const stableBefore = this.#stable.before(now, retentionMs, stable.aggregated);
    this.replication.collect(Math.min(stable.sOld, stable.aggregated, stableBefore, kept), out);
    this.outcomes.discard(now, out);
  }

  /** The data with which it answers a peer. */
  needs(message: ReplayLog | ReadCopy | ReadUnstable): ReadNeeds {
    const { partition } = this;
    if (message.type === 'ReadCopy') return { kind: 'copy', partition, start: message.request.start };
    const kind = message.type === 'ReplayLog' ? 'log' : 'changes';
    return { kind, partition, after: message.after, upTo: message.upTo };
  }
}
