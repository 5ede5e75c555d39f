/** Puts the machines of one PaRiS node together, from the cluster file and from what its disk holds (D7). */
import type {
  ErrorCode,
  LogGroup,
  MetaValue,
  NodeId,
  PartitionId,
  RecoveredState,
  RegionId,
  Timestamp,
  Topology,
  VersionReader,
  WallMs,
} from '@isochron/core';
import { Activity } from '../kernel/activity.js';
import { DriftWatch } from '../kernel/drift-watch.js';
import { Membership } from '../kernel/membership.js';
import { NodeClock } from '../kernel/node-clock.js';
import { StableTime } from '../kernel/stable-time.js';
import type { Machine } from '../machine.js';
import { Coordinator } from './coordinator.js';
import type { ParisMessage } from './messages.js';
import { type NodeState, replicaName } from './node-state.js';
import { Rebuild } from './rebuild.js';
import { Replica } from './replica.js';
import type { ParisSettings } from './settings.js';
import { Stabilization } from './stabilization.js';

export interface ParisNodeOptions {
  readonly node: NodeId;
  readonly topology: Topology;
  readonly epoch: number;
  readonly settings: ParisSettings;
  readonly reader: VersionReader;
  readonly recovered: RecoveredState;
  /** Own log entries above the own version clock of each partition: committed, not applied (see `unappliedAfter`). */
  readonly unapplied: ReadonlyMap<PartitionId, readonly LogGroup[]>;
  readonly now: WallMs;
  /** An operator's word that partitions without any copy may come back empty (D10). */
  readonly acceptLoss?: boolean;
  /** The node had data, which were set aside (D10). */
  readonly setAside?: boolean;
  /** Why new writes must be refused now (D11), as the driver measures it; by default never. */
  readonly writable?: () => ErrorCode | undefined;
}

/** The machines of one node, by name, in the order in which they act on a common tick. */
export interface ParisNode {
  readonly clock: NodeClock;
  readonly stable: StableTime;
  readonly coordinator: Coordinator;
  readonly replicas: readonly Replica[];
  readonly stabilization: Stabilization;
  readonly membership: Membership;
  readonly rebuild: Rebuild;
  readonly machines: readonly (readonly [name: string, machine: Machine<ParisMessage>])[];
}

/** Where a partition's committed, unapplied transactions begin in its log: behind the durable own version clock. */
export function unappliedAfter(recovered: RecoveredState, partition: PartitionId, region: RegionId): Timestamp {
  return vectorOf(recovered.meta.get(`vv/${partition}`))[region] ?? 0;
}

/**
 * Whether a store holds no data that a node could go on with: the node asks its peers instead (D10). A driver opens it on an *empty*
 * store then, because half a copy would bring collected versions back.
 */
export const lacksData = ({ meta }: RecoveredState): boolean =>
  // A store from before there was such a mark has version vectors.
  meta.get('joined') !== 1 && ![...meta.keys()].some((name) => name.startsWith('vv/'));

export function createParisNode(options: ParisNodeOptions): ParisNode {
  const { node, topology, recovered } = options;
  const ust = timestampOf(recovered.meta.get('ust'));
  const ceiling = timestampOf(recovered.meta.get('ceiling'));
  const region = topology.regionOf(node);
  const state: NodeState = {
    node,
    region,
    topology,
    epoch: options.epoch,
    settings: options.settings,
    clock: new NodeClock(Math.max(ceiling, ust, highestKnown(options)), ceiling),
    stable: new StableTime(ust),
    drift: new DriftWatch(options.settings.maxClockDriftMs),
    activity: new Activity(options.now, options.settings.idleBackoff),
    membership: new Membership(!lacksData(recovered), timestampOf(recovered.meta.get('lostUpTo'))),
    writable: options.writable ?? (() => undefined),
    reader: options.reader,
  };
  const replicas = topology.partitionsOn(node).map((partition) => recoverReplica(partition, state, ust, options));
  const coordinator = new Coordinator(state);
  const stabilization = new Stabilization(state, {
    gst: () => minimum(replicas),
    sOld: () => coordinator.sOld,
  });
  const rebuild = new Rebuild(state, replicas, options.acceptLoss ?? false, options.setAside ?? false);
  return {
    clock: state.clock,
    stable: state.stable,
    coordinator,
    replicas,
    stabilization,
    membership: state.membership,
    rebuild,
    machines: [
      ...replicas.map((replica) => [replicaName(replica.partition), replica] as const),
      ['coordinator', coordinator],
      ['stabilization', stabilization],
      ['rebuild', rebuild],
    ],
  };
}

function recoverReplica(partition: PartitionId, state: NodeState, ust: Timestamp, options: ParisNodeOptions): Replica {
  const { meta, prepared } = options.recovered;
  const durable = vectorOf(meta.get(`vv/${partition}`));
  const regions = state.topology.partitions[partition]!.regions;
  const replica = new Replica(partition, state, {
    // A UST that was computed proves that every entry had reached it (D7).
    versionVector: regions.map((region) => [region, Math.max(durable[region] ?? 0, ust)] as const),
    gcFloor: timestampOf(meta.get(`gcFloor/${partition}`)),
    forgottenUpTo: timestampOf(meta.get(`forgottenUpTo/${partition}`)),
    truncatedUpTo: timestampOf(meta.get(`logTruncatedUpTo/${partition}`)),
    logged: options.recovered.logEnds.get(partition) ?? 0,
  });
  const own = prepared.filter((p) => p.partition === partition).sort((a, b) => a.record.pt - b.record.pt);
  for (const { txId, record } of own) replica.cohort.prepared.add({ txId, record, since: options.now });
  replica.cohort.recoverFrozen(Object.keys(vectorOf(meta.get(`frozen/${partition}`))));
  for (const { ct, txs } of options.unapplied.get(partition) ?? []) {
    if (ct <= replica.versionClock) continue;
    for (const { txId, writes } of txs) {
      const outcome = options.reader.outcome(partition, txId);
      const attempt = outcome?.attempt ?? 0;
      replica.cohort.committed.add({ txId, ct, attempt, digest: outcome?.digest ?? '', writes, logged: true });
    }
  }
  return replica;
}

/** Highest own version clock, proposed and commit timestamp on disk: the HLC starts above all of them. */
function highestKnown({ recovered, unapplied }: ParisNodeOptions): Timestamp {
  let highest = 0;
  for (const { record } of recovered.prepared) highest = Math.max(highest, record.pt);
  for (const groups of unapplied.values()) for (const { ct } of groups) highest = Math.max(highest, ct);
  for (const [name, value] of recovered.meta) {
    if (name.startsWith('vv/')) highest = Math.max(highest, ...Object.values(vectorOf(value)));
  }
  return highest;
}

function minimum(replicas: readonly Replica[]): Timestamp | null {
  let gst: Timestamp | null = null;
  for (const { vv } of replicas) if (gst === null || vv.durableMin < gst) gst = vv.durableMin;
  return gst;
}

const timestampOf = (value: MetaValue | undefined): Timestamp => (typeof value === 'number' ? value : 0);
const vectorOf = (value: MetaValue | undefined): { readonly [region: string]: Timestamp } =>
  typeof value === 'object' ? value : {};
