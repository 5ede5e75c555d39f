/** Gives the logs of a node's own partitions to the feeds of all nodes (CF5). */
import {
  type Change,
  isCounterKey,
  type KeyWrite,
  type NodeId,
  type PartitionId,
  type QualifiedKey,
  type RegionId,
  type StoredVersion,
  type Timestamp,
  type Topology,
  timeOf,
  Update,
  type VersionReader,
} from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { Activity } from '../activity.js';
import type { ProtocolSettings } from '../settings.js';
import { type ChangesPageReq, FEEDS_MACHINE, type FeedMessage, type ReadChanges } from './messages.js';
import { changeBytes } from './pages.js';

type Out = Effects<FeedMessage>;

/** The parts of a node's state that its feeds use. */
export interface FeedsState {
  readonly node: NodeId;
  readonly region: RegionId;
  readonly topology: Topology;
  readonly settings: Pick<ProtocolSettings, 'gossipIntervalMs' | 'readTimeoutMs'>;
  readonly stable: { readonly value: Timestamp };
  readonly membership: { readonly joined: boolean };
  readonly reader: Pick<VersionReader, 'changes' | 'find'>;
  readonly activity: Pick<Activity, 'nextRound'>;
}

/** A page ends with the group that reaches this, in estimated bytes. */
const PAGE_BYTES = 256 * 1024;
/** Requests that wait until UST is above them; the oldest go. */
const MAX_WAITING = 10_000;

interface WaitingRequest {
  readonly node: NodeId;
  readonly partition: PartitionId;
  readonly after: Timestamp;
}

export class LogServer {
  readonly #waiting = new Map<string, WaitingRequest>();
  readonly #self: Address;

  constructor(
    readonly state: FeedsState,
    /** The log of a partition has the transactions of all regions above; undefined where the partition is not here. */
    readonly changesFrom: (partition: PartitionId) => Timestamp | undefined,
  ) {
    this.#self = { node: state.node, machine: FEEDS_MACHINE };
  }

  /** Requests that wait until UST is above them. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** A node without its data, and one without the partition, do not answer: another replica is asked. */
  onRequest({ partition, after }: ChangesPageReq, { node }: Address, out: Out): void {
    const { membership, topology, stable } = this.state;
    if (!membership.joined || !topology.nodes.includes(node) || this.changesFrom(partition) === undefined) return;
    if (stable.value > after) this.#read({ node, partition, after }, out);
    else this.#wait({ node, partition, after });
  }

  /** UST may have risen. */
  round(out: Out): void {
    for (const [name, waiting] of this.#waiting) {
      if (this.state.stable.value <= waiting.after) continue;
      this.#waiting.delete(name);
      this.#read(waiting, out);
    }
  }

  onRead({ node, partition, after, upTo }: ReadChanges, out: Out): void {
    const page = this.state.reader.changes(partition, after, upTo);
    const shown = page.changes.map(withoutCounters);
    const unknown = shown.findLast((change) => !this.#isKnown(partition, change))?.ct ?? 0;
    const truncatedUpTo = Math.max(page.truncatedUpTo, this.changesFrom(partition) ?? upTo, unknown);
    const cut = truncatedUpTo > after ? { changes: [], upTo: after } : cutPage(shown, page.upTo);
    const to = { node, machine: FEEDS_MACHINE };
    const changes = cut.changes.map((change) => this.#effective(partition, change));
    out.send(to, { type: 'ChangesPageResp', partition, after, truncatedUpTo, upTo: cut.upTo, changes });
  }

  /** Whether versions show which writes of a change have an effect (F9): collection takes late versions, too. */
  #isKnown(partition: PartitionId, change: Change): boolean {
    const { tx } = change;
    const isFound = ({ key, value }: KeyWrite) =>
      value instanceof Update || this.#upTo(partition, key, change) !== undefined;
    return tx.at === undefined || tx.writes.every(isFound);
  }

  /**
   * A change without the late writes that have no effect (F9): their versions have the time of the change that has
   * overtaken them.
   */
  #effective(partition: PartitionId, change: Change): Change {
    const { ct, tx, source } = change;
    if (tx.at === undefined) return { ct, tx, source };
    const hasEffect = ({ key, value }: KeyWrite) => {
      if (value instanceof Update) return true;
      const found = this.#upTo(partition, key, change);
      return found?.txId !== tx.txId || timeOf(found) === tx.at;
    };
    return { ct, tx: { ...tx, writes: tx.writes.filter(hasEffect) }, source };
  }

  /** The newest version of a key up to a change. */
  #upTo(partition: PartitionId, key: QualifiedKey, { ct, tx }: Change): StoredVersion | undefined {
    const isUpTo = ({ ts, txId }: StoredVersion) => ts < ct || (ts === ct && txId <= tx.txId);
    return this.state.reader.find(partition, key, isUpTo);
  }

  #wait(waiting: WaitingRequest): void {
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined && this.#waiting.size >= MAX_WAITING) this.#waiting.delete(oldest);
    this.#waiting.set(`${waiting.node}/${waiting.partition}/${waiting.after}`, waiting);
  }

  /** In a step of its own, so that the driver can bring the range to memory. */
  #read(request: WaitingRequest, out: Out): void {
    out.send(this.#self, { type: 'ReadChanges', ...request, upTo: this.state.stable.value });
  }
}

/** Counters are no client's (OF1). */
function withoutCounters(change: Change): Change {
  const { writes } = change.tx;
  if (!writes.some(({ key }) => isCounterKey(key))) return change;
  return { ...change, tx: { ...change.tx, writes: writes.filter(({ key }) => !isCounterKey(key)) } };
}

function cutPage(changes: readonly Change[], upTo: Timestamp): { changes: readonly Change[]; upTo: Timestamp } {
  let bytes = 0;
  for (const [i, change] of changes.entries()) {
    const last = changes[i - 1]?.ct;
    if (bytes >= PAGE_BYTES && last !== undefined && change.ct !== last)
      return { changes: changes.slice(0, i), upTo: last };
    bytes += changeBytes(change);
  }
  return { changes, upTo };
}
