/**
 * The maps of a node (M1, M2): all that are decided, which of these the node has adopted, and what it has promised and
 * accepted for the next. All of it is on the disk.
 */
import {
  type ClusterMap,
  clusterMap,
  type DurableRecord,
  IsochronError,
  invariant,
  isConsistent,
  MalformedMessage,
  type MetaValue,
  type NodeId,
  type SessionCut,
  type Timestamp,
  Topology,
} from '@isochron/core';
import type { WriteSeq } from '../../machine.js';
import { AcceptedMap } from './messages.js';

/** A durable write. */
type Out = { write(record: DurableRecord): WriteSeq };

/** What a voter has promised about a version, and accepted for it. */
interface MapPromise {
  readonly version: number;
  readonly ballot: number;
  readonly accepted?: AcceptedMap | undefined;
}

/** Names of the durable records. */
const mapRecord = (version: number): string => `map/${version}`;
const ADOPTED = 'map/adopted';
const PROMISED = 'map/promised';
const ABSTAINS = 'map/abstains';
/** The minimum that this node has reported under the adopted map. */
export const MINIMUM = 'minimum';
/** The stable time at which each map ended here. */
const ENDED = 'map/ended';
/** The version in which this node has promised to prepare nothing more. */
const LEFT = 'map/left';

export class Maps {
  readonly #decided: Topology[];
  #adopted = 0;
  #promise: MapPromise | undefined;
  /** Another disk of this node may have promised and accepted something for versions up to here. */
  #abstainsUpTo = 0;
  readonly #ended: Record<string, Timestamp>;
  #left: number | undefined;
  #adoptedBy: WriteSeq = 0;
  #persisted: WriteSeq = 0;
  /** The node refuses new prepares: it is about to leave. */
  isLeaving = false;
  /** Other nodes that are about to leave: new attempts of commits avoid them. */
  readonly leaving = new Set<NodeId>();
  /** Nodes that an operator is about to evict: this node does not wait for them. */
  #forgone = new Set<NodeId>();

  /**
   * @param founding map 0, which the cluster file gives
   * @throws IsochronError STORAGE_FAILED if a record is damaged
   */
  constructor(founding: Topology, meta: ReadonlyMap<string, MetaValue>) {
    this.#decided = [founding];
    for (let version = 1; meta.has(mapRecord(version)); version++)
      this.#decided.push(new Topology(read(meta, mapRecord(version), clusterMap.decode)));
    this.#adopted = numberIn(meta, ADOPTED);
    this.#abstainsUpTo = numberIn(meta, ABSTAINS);
    const [ended, left] = [meta.get(ENDED), meta.get(LEFT)];
    this.#ended = typeof ended === 'object' ? { ...ended } : {};
    this.#left = typeof left === 'number' ? left : undefined;
    if (meta.has(PROMISED)) this.#promise = read(meta, PROMISED, decodePromise);
    invariant(this.#adopted < this.#decided.length, () => `the adopted map ${this.#adopted} is not on the disk`);
  }

  /** The adopted map. */
  get current(): Topology {
    return this.#decided[this.#adopted]!;
  }

  /** The decided map of the highest version. */
  get newest(): ClusterMap {
    return this.#decided.at(-1)!.map;
  }

  /** The decided map that is to be adopted next. */
  get next(): Topology | undefined {
    return this.#decided[this.#adopted + 1];
  }

  /** M2: a promise for a version that is not adopted: no report for stable time leaves. */
  get isSealed(): boolean {
    return this.#promise !== undefined && this.#promise.version > this.#adopted;
  }

  /**
   * Whether the batch that adopts the map is under way: what the map defers is in the data until that batch is on the
   * disk (M4, M5). So nothing above the horizon is read or reported, and no further map adopted.
   */
  get isAdopting(): boolean {
    return this.adoptedBy > this.#persisted;
  }

  /** The batch that has adopted the map; 0 if an earlier process wrote that batch. */
  get adoptedBy(): WriteSeq {
    return this.#adoptedBy;
  }

  persisted(upTo: WriteSeq): void {
    this.#persisted = upTo;
  }

  /** A decided map by its version. */
  at(version: number): Topology | undefined {
    return this.#decided[version];
  }

  /** All decided maps above a version. */
  after(version: number): readonly ClusterMap[] {
    return this.#decided.slice(Math.max(0, version) + 1).map(({ map }) => map);
  }

  /** The adopted maps above a version. */
  adoptedAfter(version: number): readonly ClusterMap[] {
    return this.#decided.slice(version + 1, this.#adopted + 1).map(({ map }) => map);
  }

  /** The adopted maps above a version that have suspended nodes (M10). */
  cutsAfter(version: number): readonly SessionCut[] {
    const cuts = this.adoptedAfter(version).filter(({ suspends }) => suspends.length > 0);
    return cuts.map(({ version: map, horizon, suspends: nodes }) => ({ map, horizon, nodes }));
  }

  /** The highest version that this node has a decision about, or a promise for. */
  get highestPromised(): number {
    return Math.max(this.newest.version, this.#promise?.version ?? 0);
  }

  /** The version for which a seal is open and no map decided; undefined without. */
  get undecided(): number | undefined {
    const version = this.#promise?.version ?? 0;
    return version > this.newest.version ? version : undefined;
  }

  /** What was promised about the next version. */
  get promised(): Pick<MapPromise, 'ballot' | 'accepted'> {
    const promise = this.#promise;
    return promise !== undefined && promise.version > this.newest.version ? promise : { ballot: 0 };
  }

  /** Whether a lost disk of this node may have had promises for a version: then the node seals, and does not vote. */
  abstains(version: number): boolean {
    return version <= this.#abstainsUpTo;
  }

  /** The seal, and what was accepted: for the version after the newest. */
  promise(ballot: number, accepted: AcceptedMap | undefined, out: Out): void {
    this.#promise = { version: this.newest.version + 1, ballot, accepted };
    writeText(PROMISED, JSON.stringify(encodePromise(this.#promise)), out);
  }

  /** Whether a map may follow the newest one (D12). */
  mayLearn(map: ClusterMap): boolean {
    return mayFollow(map, this.newest);
  }

  /** A decision. Returns whether it may follow the newest map. */
  learn(map: ClusterMap, out: Out): boolean {
    if (!this.mayLearn(map)) return false;
    this.#decided.push(new Topology(map));
    writeText(mapRecord(map.version), textOf(map), out);
    return true;
  }

  /** M5: the next map is in force here. @param stable the stable time with which the present one ends */
  adopt(stable: Timestamp, out: Out): void {
    invariant(this.next !== undefined, 'there is no map to adopt');
    this.#ended[String(this.#adopted)] = stable;
    this.#adopted++;
    for (const node of this.leaving) if (!this.current.isMember(node)) this.leaving.delete(node);
    out.write({ kind: 'meta', name: ENDED, value: { ...this.#ended } });
    this.#adoptedBy = out.write({ kind: 'meta', name: ADOPTED, value: this.#adopted });
    // What was reported before does not count the nodes that the map brings back.
    out.write({ kind: 'meta', name: MINIMUM, value: this.current.map.horizon });
  }

  /** Whether this node has promised to prepare nothing more in the adopted map. */
  get hasLeft(): boolean {
    return this.#left === this.#adopted;
  }

  /** Whether a map after a version, up to a later version, has suspended nodes. */
  suspendsBetween(after: number, upTo: number): boolean {
    return this.#decided.slice(after + 1, upTo + 1).some(({ map }) => map.suspends.length > 0);
  }

  /** Whether a map after `version` has suspended one of the nodes: what they were to decide together is deferred. */
  suspendedSince(version: number, nodes: readonly NodeId[]): boolean {
    const since = this.#decided.slice(version + 1, this.#adopted + 1);
    return since.some((topology) => nodes.some((node) => topology.map.suspends.includes(topology.numberOf(node))));
  }

  /** Whether a node is no member because it did not answer, and may come back. */
  isSuspended(node: NodeId): boolean {
    const { current } = this;
    if (current.isMember(node) || current.evicted.includes(node)) return false;
    return this.suspendedSince(this.#newestWith(node, this.#adopted), [node]);
  }

  /** Whether a node never comes back: an eviction holds from its decision on. */
  isEvicted(node: NodeId): boolean {
    return this.#decided.at(-1)!.evicted.includes(node);
  }

  /** An operator evicts nodes that are no members (M14). */
  forgo(nodes: readonly NodeId[]): void {
    this.#forgone = new Set(nodes.filter((node) => !this.#decided.at(-1)!.isMember(node)));
  }

  /** Whether a node with a lost disk has to wait for another node. */
  isAwaited(node: NodeId): boolean {
    return !this.isEvicted(node) && (!this.#forgone.has(node) || this.#decided.at(-1)!.isMember(node));
  }

  /** Whether an adopted map after a version has evicted nodes. */
  evictsSince(version: number): boolean {
    return this.at(version)!.evicted.length < this.current.evicted.length;
  }

  /** The map without which a node would be a member still; undefined for a member. */
  departureOf(node: NodeId): ClusterMap | undefined {
    return this.current.isMember(node) ? undefined : this.#decided[this.#newestWith(node, this.#adopted) + 1]?.map;
  }

  /** The promise of a node that leaves: in this map it prepares nothing more, also after a crash. */
  leave(out: Out): void {
    this.#left = this.#adopted;
    out.write({ kind: 'meta', name: LEFT, value: this.#adopted });
  }

  /**
   * The part of a stable time that counts these nodes in one map: what a node had up to there, and what the others had
   * of it, was on the disk. Up to its horizon, the stable times of a map count the members of the map before that stay
   * (M3); nodes that it brings back have that much once they adopt it (M5). Nodes that never come back need nothing.
   */
  confirmed(nodes: readonly NodeId[], stable: Timestamp): Timestamp {
    const present = nodes.filter((node) => !this.isEvicted(node));
    return present.length === 0 ? stable : this.#counted(present, stable, this.#adopted);
  }

  #counted(nodes: readonly NodeId[], stable: Timestamp, version: number): Timestamp {
    if (version === 0) return stable;
    const ended = this.#ended[String(version - 1)] ?? 0;
    const [before, map] = [this.#decided[version - 1]!, this.#decided[version]!];
    const isCounted = (node: NodeId) => map.isMember(node) && (before.isMember(node) || stable > map.map.horizon);
    const counts = stable > ended && nodes.every(isCounted);
    return counts ? stable : this.#counted(nodes, Math.min(stable, ended), version - 1);
  }

  /**
   * What the own entries for a node had reached: a map is adopted once the entries of all its members are at its
   * horizon (M5), and the stable times that follow count them.
   */
  reached(node: NodeId, stable: Timestamp): Timestamp {
    const { horizon } = this.#decided[this.#newestWith(node, this.#adopted)]!.map;
    return Math.max(this.#counted([node], stable, this.#adopted), horizon);
  }

  #newestWith(node: NodeId, version: number): number {
    let newest = version;
    while (newest > 0 && !this.#decided[newest]!.isMember(node)) newest--;
    return newest;
  }

  /** The disk was lost: versions up to here are decided without this node's vote. */
  abstain(upTo: number, out: Pick<Out, 'write'>): void {
    if (upTo <= this.#abstainsUpTo) return;
    this.#abstainsUpTo = upTo;
    out.write({ kind: 'meta', name: ABSTAINS, value: upTo });
  }
}

/**
 * M14: a node that a decided map has evicted does not run, neither on its former disk nor on an empty disk. The maps
 * are on the disk: the node does not start again either.
 *
 * @throws IsochronError NODE_EVICTED
 */
export function refuseEvicted(node: NodeId, maps: Maps): void {
  if (!maps.isEvicted(node)) return;
  throw new IsochronError(
    'NODE_EVICTED',
    `An operator has evicted ${node} from the cluster for good: no node runs under this id again. Stop this process, and set its data folder aside.`,
  );
}

const textOf = (map: ClusterMap): string => JSON.stringify(clusterMap.encode(map));

const writeText = (name: string, value: string, out: Out): unknown => out.write({ kind: 'meta', name, value });

const encodePromise = ({ version, ballot, accepted }: MapPromise): unknown[] => [
  version,
  ballot,
  accepted === undefined ? null : AcceptedMap.encode(accepted),
];

function decodePromise(raw: unknown): MapPromise {
  const [version, ballot, accepted] = Array.isArray(raw) ? raw : [];
  if (!Number.isSafeInteger(version) || !Number.isSafeInteger(ballot)) throw new MalformedMessage('expected a promise');
  return { version, ballot, accepted: accepted === null ? undefined : AcceptedMap.decode(accepted) };
}

const numberIn = (meta: ReadonlyMap<string, MetaValue>, name: string): number => {
  const value = meta.get(name);
  return typeof value === 'number' ? value : 0;
};

function read<T>(meta: ReadonlyMap<string, MetaValue>, name: string, decode: (raw: unknown) => T): T {
  const text = meta.get(name);
  try {
    return decode(JSON.parse(String(text)));
  } catch (cause) {
    throw new IsochronError('STORAGE_FAILED', `The record ${name} on disk is damaged. Refill the node.`, {
      cause,
      retryable: false,
    });
  }
}

/** Whether a map can follow another: it has the same placement, and members and voters among its nodes. */
function mayFollow(map: ClusterMap, before: ClusterMap): boolean {
  const { version, members, voters, horizon, suspends, held, isOrdered, evicted } = map;
  const changes = { version, members, voters, horizon, suspends, held, isOrdered, evicted };
  const areAway = (nodes: readonly number[]) => nodes.length > 0 && nodes.every((node) => !members.includes(node));
  const areGone = (nodes: readonly number[]) => areAway(nodes) && nodes.every((node) => !voters.includes(node));
  return (
    version === before.version + 1 &&
    horizon >= before.horizon &&
    members.length > 0 &&
    voters.length > 0 &&
    suspends.every((node) => before.members.includes(node) && !members.includes(node)) &&
    (held === undefined || areAway(held)) &&
    (evicted === undefined || areGone(evicted)) &&
    (before.evicted ?? []).every((node) => evicted?.includes(node)) &&
    isConsistent(map) &&
    textOf(map) === textOf({ ...before, ...changes })
  );
}
