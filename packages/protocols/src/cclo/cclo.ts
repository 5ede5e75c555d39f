/**
 * CC-LO (Didona, Guerraoui, Wang, Zwaenepoel: _Causal Consistency and Latency Optimality: Friend or Foe?_, VLDB 2018,
 * section 3), which is COPS-SNOW (Lu, Hodsdon, Ngo, Mu, Lloyd: _The SNOW Theorem and Latency-Optimal Read-Only
 * Transactions_, OSDI 2016) with two optimisations: read-only transactions of one round and one version that never
 * wait, and writes that first find the readers that must not see them.
 */
import type { Dependency, PartitionId, QualifiedKey, Timestamp, TxId, Version, WallMs } from '@isochron/core';
import { MAX_TIMESTAMP } from '@isochron/core';
import { NodeClock } from '../kernel/node-clock.js';
import type { NodeState } from '../kernel/node-state.js';
import type { OperationMessage, PutSliceReq } from '../kernel/operations/messages.js';
import { needsOf } from '../kernel/operations/named.js';
import { NamedDependencyRules, type NamedProtocol } from '../kernel/operations/named-rules.js';
import type { AdmissionRules, OperationProtocol, ReplicaPart, ReplicaView } from '../kernel/operations/protocol.js';
import type { Wait } from '../kernel/waiting.js';
import type { Address, Effects } from '../machine.js';
import { KEPT, KEPT_MS, ReadersRecords } from './readers.js';
import { ReadersChecks } from './readers-checks.js';
import { ccLoSession } from './session.js';

type Out = Effects<OperationMessage>;

/** The interval between two removals of expired ids. */
const DROP_INTERVAL: Timestamp = KEPT / 8;

/** Clocks that have passed the ROTs of their lost records: a process joins once, with all its replicas. */
const PASSED = new WeakSet<NodeClock>();

/** The protocol's state in a replica. */
export class Readers implements ReplicaPart {
  readonly records: ReadersRecords;
  readonly checks: ReadersChecks;
  #droppedUpTo: Timestamp = 0;

  constructor(
    readonly replica: ReplicaView,
    readonly inRound: () => void,
  ) {
    this.records = new ReadersRecords(replica.versions);
    this.checks = new ReadersChecks(replica, this.records);
  }

  get counters(): Readonly<Record<string, number>> {
    return this.checks.counters;
  }

  take(message: OperationMessage, now: WallMs, from: Address, out: Out): boolean {
    if (message.type === 'ReadersCheckReq') this.checks.onRequest(message, now, from, out);
    else if (message.type === 'ReadersCheckResp') this.replica.asks.take(message, from, now, out);
    else return false;
    return true;
  }

  /** A PUT waits for its readers check; it takes its timestamp afterwards. */
  put({ txId, depends = [] }: PutSliceReq, now: WallMs, out: Out): Wait | undefined {
    if (!this.replica.checks.whole(now)) return 'later';
    return this.checks.begin(txId, depends, now, out) ? undefined : 'later';
  }

  written(key: QualifiedKey, version: Version): void {
    this.records.written(key, version, this.checks.take(version));
  }

  /**
   * The records were lost with the disk: the clock of the node passes the time of every ROT that may be in them, once
   * for all its replicas.
   */
  joined(): void {
    const { clock } = this.replica.replication.state;
    if (PASSED.has(clock)) return;
    PASSED.add(clock);
    clock.advance(clock.last + KEPT);
  }

  round(now: WallMs): void {
    this.inRound();
    const { clock, settings } = this.replica.replication.state;
    this.checks.expire(now - 2 * settings.commitTimeoutMs);
    const upTo = clock.last - KEPT;
    if (upTo < this.#droppedUpTo + DROP_INTERVAL) return;
    this.#droppedUpTo = upTo;
    this.records.drop(upTo);
  }
}

class CcLo implements NamedProtocol {
  readonly reach = { get: 'keys', rot: 'chains', put: 'keys' } as const;
  readonly rotMs = KEPT_MS;
  readonly rotsHaveIds = true;
  readonly admission: AdmissionRules;
  readonly #parts = new Map<PartitionId, Readers>();

  constructor(readonly state: NodeState) {
    this.admission = {
      // Those of other partitions are checked by the readers check.
      needs: ({ tx: { depends = [] } }, { partition }) =>
        needsOf(depends, state.topology).filter((need) => need.partition === partition),
      prepare: ({ tx: { txId, depends = [] } }, { partition }, ready, now, out) => {
        this.#parts.get(partition)!.checks.beginUpdate(txId, depends, ready, now, out);
      },
      dropped: ({ tx: { txId } }, { partition }) => this.#parts.get(partition)!.checks.drop(txId),
      reads: 'keys',
    };
  }

  part(replica: ReplicaView, round: () => void): ReplicaPart {
    const part = new Readers(replica, round);
    this.#parts.set(replica.partition, part);
    return part;
  }

  get(key: QualifiedKey, { versions }: ReplicaView): Version | undefined {
    return bare(versions.at(key, MAX_TIMESTAMP));
  }

  read(key: QualifiedKey, at: Timestamp, { partition }: ReplicaView, rot: TxId | undefined): Version | undefined {
    return bare(this.#parts.get(partition)!.records.read(key, { id: rot!, at }));
  }

  /** Dependencies are nearest ones: the dependencies of a version were checked when it became visible. */
  behind(): readonly Dependency[] {
    return [];
  }

  /** A later incarnation has no records of readers: it begins when the ROT's time is over. */
  outlives(at: Timestamp): Timestamp {
    return at + KEPT;
  }
}

/** Only replicas use a version's dependencies. */
function bare(version: Version | undefined): Version | undefined {
  if (version?.depends === undefined) return version;
  const { depends: _, ...rest } = version;
  return rest;
}

/** Causal consistency; ROTs of one round and one version; PUTs ask every partition that their client depends on. */
export const ccLo: OperationProtocol = {
  name: 'cc-lo',
  Clock: NodeClock,
  session: ccLoSession,
  rules: (state) => new NamedDependencyRules(state, new CcLo(state)),
};
