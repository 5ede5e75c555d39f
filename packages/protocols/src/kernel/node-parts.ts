/** The parts of a node under every protocol, made from the cluster file, the settings and the data on the disk (D7). */
import {
  type Deps,
  type ErrorCode,
  IsochronError,
  type MetaValue,
  type NodeId,
  type PartitionId,
  type RecoveredState,
  type Timestamp,
  type Topology,
  type VersionReader,
  type WallMs,
  wallOf,
} from '@isochron/core';
import { Activity } from './activity.js';
import { type ClockReadings, DriftWatch } from './drift-watch.js';
import { Maps, MINIMUM, refuseEvicted } from './maps/maps.js';
import type { NodeClock } from './node-clock.js';
import type { Conflict, NodeState, OutsidersMessage } from './node-state.js';
import { changesRecord } from './replication/change-retention.js';
import { LOSSES_RECORD, type Loss, Losses } from './replication/losses.js';
import { Membership } from './replication/membership.js';
import type { HeldBackBy } from './replication/messages.js';
import { RegionalTimes } from './replication/regional-times.js';
import type { RecoveredReplica } from './replication/replica-state.js';
import type { Replication } from './replication/replication.js';
import { StableTime } from './replication/stable-time.js';
import { copiedUnder } from './replication/unstable.js';
import { Verification } from './replication/verification.js';
import type { ProtocolSettings } from './settings.js';

/** The options with which a driver starts a node. */
export interface CommonNodeOptions {
  readonly node: NodeId;
  readonly topology: Topology;
  readonly settings: ProtocolSettings;
  /** Keyspaces in which no write is late (F9). */
  readonly lateInOrder?: readonly string[];
  readonly reader: VersionReader;
  readonly recovered: RecoveredState;
  readonly now: WallMs;
  /** An operator accepts that partitions without any copy come back empty (D10). */
  readonly acceptLoss?: boolean;
  /** The node had data, which were set aside (D10). */
  readonly setAside?: boolean;
  /** Why new writes must be refused now (D11), as the driver measures it; by default never. */
  readonly writable?: () => ErrorCode | undefined;
  /** Called in the step that finds losses (D10), with new and changed ones; must not throw. */
  readonly lost?: (losses: readonly Loss[]) => void;
  /** The machine's clocks; by default the time of each step is taken as correct. */
  readonly readings?: ClockReadings | undefined;
  /** Called in the step that finds two conflicting writes, under protocols that look for them; must not throw. */
  readonly conflict?: (conflict: Conflict) => void;
  /** Called in the step that ignores a message of a node without a part in its transaction; must not throw. */
  readonly outsider?: (message: OutsidersMessage) => void;
}

/** The contribution of a node to the times of its region (`RegionalTimes`). */
export interface RegionalRule {
  size(topology: Topology): number;
  own(replicas: readonly Replication[], state: Pick<NodeState, 'region' | 'topology'>): Deps;
  /** The times are the minima over all regions. */
  readonly everywhere?: boolean;
}

/** The parts of a node's state that depend on the protocol. */
export interface ProtocolParts {
  readonly Clock: new (start: Timestamp, ceiling: Timestamp, drift: DriftWatch) => NodeClock;
  readonly entries: number;
  readonly regional: RegionalTimes;
  readonly stableSnapshots: boolean;
}

/**
 * Whether a store lacks the data to continue with: then the node asks its peers (D10). A driver opens it on an *empty*
 * store then, because half a copy would restore collected versions.
 */
export const lacksData = ({ meta }: RecoveredState): boolean =>
  // An older store without this mark has version vectors.
  meta.get('joined') !== 1 && ![...meta.keys()].some((name) => name.startsWith('vv/'));

/**
 * The state that a node's machines share.
 *
 * @param known highest timestamp on the disk, besides those of clock, stable time and version vectors: the clock starts
 * above all
 */
export function recoverState(options: CommonNodeOptions, parts: ProtocolParts, known: Timestamp): NodeState {
  const { node, topology, settings, recovered } = options;
  const ust = durableUst(recovered);
  const ceiling = timestampOf(recovered.meta.get('ceiling'));
  const drift = new DriftWatch(settings.maxClockDriftMs, topology.nodes.length - 1, options.readings);
  const maps = new Maps(topology, recovered.meta);
  refuseEvicted(node, maps);
  const start = Math.max(ceiling, ust, known, highestVector(recovered));
  refuseFuture(start, drift, options.readings);
  return {
    node,
    region: topology.regionOf(node),
    maps,
    get topology() {
      return maps.current;
    },
    settings,
    lateInOrder: new Set(options.lateInOrder),
    entries: parts.entries,
    stableSnapshots: parts.stableSnapshots,
    clock: new parts.Clock(start, ceiling, drift),
    stable: new StableTime(ust),
    regional: parts.regional,
    drift,
    activity: new Activity(node, options.now, settings.idleBackoff),
    membership: new Membership(
      !lacksData(recovered),
      timestampOf(recovered.meta.get('lostUpTo')),
      timestampOf(recovered.meta.get('unsettled')),
    ),
    losses: new Losses(recovered.meta.get(LOSSES_RECORD), options.lost),
    verification: new Verification(settings.verifyTimeoutMs, (p, region) => topology.replicaNode(p, region)!),
    writable: options.writable ?? (() => undefined),
    reader: options.reader,
    conflict: options.conflict,
    outsider: options.outsider,
  };
}

/** How far a ceiling lies ahead of its clock (D7). */
const CEILING_AHEAD_MS = 1_000;

/**
 * Refuses a disk of the future (K1, K5). Under the drift limit no timestamp on a disk lies further ahead, unless the
 * own clock was set back since. The node takes no timestamps from such a disk, and writes nothing to it.
 *
 * @throws IsochronError `CLOCK_BEHIND_DATA`
 */
function refuseFuture(newest: Timestamp, { maxClockDriftMs }: DriftWatch, readings: ClockReadings | undefined): void {
  if (readings === undefined) return;
  const aheadMs = Math.round(wallOf(newest) - readings.wall());
  if (aheadMs <= 2 * maxClockDriftMs + CEILING_AHEAD_MS) return;
  throw new IsochronError(
    'CLOCK_BEHIND_DATA',
    `The newest timestamp on the disk lies ${aheadMs} ms ahead of the clock of this machine. Set the clock; if it is right, the data were ` +
      'written under a wrong one: see "Data from the future" in docs/clocks.md.',
  );
}

/** A node's `RegionalTimes` under a rule, or empty ones without a rule. */
export function regionalTimes(
  rule: RegionalRule | undefined,
  { node, topology }: CommonNodeOptions,
  replicas: () => readonly { readonly replication: Replication }[],
): RegionalTimes {
  if (rule === undefined) return RegionalTimes.none();
  const state = { region: topology.regionOf(node), topology };
  const own = () => {
    const followed = replicas().map(({ replication }) => replication);
    return followed.length === 0 ? [] : rule.own(followed, state);
  };
  const lags = (now: WallMs) =>
    replicas().some(({ replication }) => replication.suspects(now) || replication.lags(now));
  return new RegionalTimes(rule.size(topology), own, rule.everywhere, lags);
}

/** The state of one partition's replica on the disk. */
export function recoverReplicaState(
  partition: PartitionId,
  { node, topology, recovered }: Pick<CommonNodeOptions, 'node' | 'topology' | 'recovered'>,
  maps: Maps,
): RecoveredReplica {
  const { meta, logEnds } = recovered;
  const durable = vectorOf(meta.get(`vv/${partition}`));
  const reached = Math.max(durableUst(recovered), durableMinimum(recovered));
  return {
    // A UST that was computed, or a minimum that was reported, proves that every entry that counts had reached it (D7),
    // an adopted map its horizon (M5). The own entry always counts.
    versionVector: topology.partitions[partition]!.regions.map((region) => {
      const source = topology.replicaNode(partition, region)!;
      const proven = source === node ? reached : maps.reached(source, reached);
      return [region, Math.max(durable[region] ?? 0, proven)] as const;
    }),
    highestGroups: vectorOf(meta.get(`highestGroups/${partition}`)),
    copiedUnder: timestampOf(meta.get(copiedUnder(partition))),
    incarnations: vectorOf(meta.get(`incarnations/${partition}`)),
    limits: vectorOf(meta.get(`limits/${partition}`)),
    evidence: vectorOf(meta.get(`evidence/${partition}`)),
    gcFloor: timestampOf(meta.get(`gcFloor/${partition}`)),
    forgottenUpTo: timestampOf(meta.get(`forgottenUpTo/${partition}`)),
    truncatedUpTo: confirmedIn(recovered, partition),
    changesFrom: changesFromIn(recovered, partition),
    logged: logEnds.get(partition) ?? 0,
  };
}

/**
 * Up to here every peer has the own log. Where the log is kept for readers of changes, it is truncated by age, and
 * `logConfirmedUpTo` alone shows this; else a truncation does.
 */
function confirmedIn(recovered: RecoveredState, partition: PartitionId): Timestamp {
  const { meta } = recovered;
  const truncated = changesFromIn(recovered, partition) === undefined ? meta.get(`logTruncatedUpTo/${partition}`) : 0;
  return timestampOf(meta.get(`logConfirmedUpTo/${partition}`) ?? truncated);
}

function changesFromIn({ meta }: RecoveredState, partition: PartitionId): Timestamp | undefined {
  const value = meta.get(changesRecord(partition));
  return typeof value === 'number' ? value : undefined;
}

/**
 * The contribution of a node's replicas to UST; null without replicas. Until a lost disk is settled, it is at most the
 * stable time at the loss: a recovered version clock may lie above lost data if the lost disk was itself a rolled-back
 * one.
 *
 * @param of the contribution of a replica; that under another map than the present one, if given
 */
export function stableMinimum(
  replicas: readonly { readonly replication: Replication }[],
  { settled, unsettledAfter }: Pick<Membership, 'settled' | 'unsettledAfter'>,
  of = ({ stableMin }: Replication): Timestamp => stableMin,
): Timestamp | null {
  if (replicas.length === 0) return null;
  const minima = replicas.map(({ replication }) => of(replication));
  return Math.min(...minima, settled ? Number.POSITIVE_INFINITY : unsettledAfter);
}

/** The region and the partition of the lowest durable version vector entry that counts; undefined without a replica. */
export function lowestEntry(
  replicas: readonly { readonly replication: Pick<Replication, 'partition' | 'vv'> }[],
): HeldBackBy | undefined {
  let lowest = Number.POSITIVE_INFINITY;
  let found: HeldBackBy | undefined;
  for (const { replication } of replicas)
    for (const [region, ts] of Object.entries(replication.vv.durableEntries())) {
      if (ts >= lowest || !replication.vv.counts(region)) continue;
      lowest = ts;
      found = { region, partition: replication.partition };
    }
  return found;
}

/** Timestamps by name, as a meta record holds them. */
export const vectorOf = (value: MetaValue | undefined): { readonly [name: string]: Timestamp } =>
  typeof value === 'object' ? value : {};

const timestampOf = (value: MetaValue | undefined): Timestamp => (typeof value === 'number' ? value : 0);

/** The minimum that this node has reported, and that outlives a crash. */
export const durableMinimum = ({ meta }: RecoveredState): Timestamp => timestampOf(meta.get(MINIMUM));

const durableUst = ({ meta }: RecoveredState): Timestamp => timestampOf(meta.get('ust'));

function highestVector({ meta }: RecoveredState): Timestamp {
  let highest = 0;
  for (const [name, value] of meta) {
    if (name.startsWith('vv/')) highest = Math.max(highest, ...Object.values(vectorOf(value)));
  }
  return highest;
}
