/**
 * Orbe with dependency cleaning (Du, Elnikety, Roy, Zwaenepoel: _Orbe: Scalable Causal Consistency Using Dependency
 * Matrices and Physical Clocks_, SoCC 2013, section 6): the DM protocol, whose clients drop dependencies on versions
 * that every replica has.
 */
import { type Deps, MAX_TIMESTAMP, type PartitionId, type QualifiedKey } from '@isochron/core';
import { NodeClock } from '../kernel/node-clock.js';
import { matrixSession } from '../kernel/operations/dependency-matrix.js';
import { MatrixRules } from '../kernel/operations/matrix-rules.js';
import type { Found, OperationProtocol, PeerUpdate, ReplicaPart, ReplicaView } from '../kernel/operations/protocol.js';
import { FullReplication } from './full-replication.js';

class CleaningRules extends MatrixRules {
  readonly #replicated = new Map<PartitionId, FullReplication>();

  /** "If RVV[rid] ≥ ut … the client keeps its dependency matrix unchanged". */
  override get(key: QualifiedKey, seen: Deps, replica: ReplicaView): Found {
    const version = replica.versions.at(key, MAX_TIMESTAMP);
    const replicated = this.#replicated.get(replica.partition)!;
    if (version === undefined || !replicated.covers(version)) return super.get(key, seen, replica);
    replicated.counters.cleaned++;
    return { version, seen };
  }

  override part(replica: ReplicaView): ReplicaPart {
    const replicated = new FullReplication(replica);
    this.#replicated.set(replica.partition, replicated);
    return replicated;
  }

  protected override admitted(update: PeerUpdate, replica: ReplicaView): void {
    const replicated = this.#replicated.get(replica.partition)!;
    replicated.applied(update.source, update.ts);
    replicated.counters.conflicts += this.conflictsOf(update, replica);
  }
}

/**
 * Causal consistency of single operations with smaller matrices, for acknowledgements and completions of replication.
 */
export const orbeCleaning: OperationProtocol = {
  name: 'orbe-cleaning',
  rots: false,
  Clock: NodeClock,
  session: matrixSession,
  rules: (state) => new CleaningRules(state),
};
