/** Sends a replica's own groups to its peers (Alg. 4 lines 15 and 21), and replays its log to a peer that asks (D6). */
import type { LogGroup, LoggedTx, PartitionId, RegionId, Timestamp } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import { type NodeState, replicaName } from '../node-state.js';
import type { Loss } from './losses.js';
import type { ReplayLog, ReplicationMessage } from './messages.js';
import type { PeerProgress } from './peer-progress.js';
import { type Origin, sendRange } from './ranges.js';
import type { VersionVector } from './version-vector.js';
import { without } from './versions.js';

type Out = Effects<ReplicationMessage>;

const nameOf = ({ txId, ts }: Pick<Loss, 'txId' | 'ts'>): string => `${ts}/${txId}`;

export class Sender {
  readonly #self: Address;
  /** Applied groups that the live streams have not carried yet; those up to `#releasedUpTo` are in the log alone. */
  #unsent: LogGroup[] = [];
  /** Transactions that were taken back under the present map: a page of the log may have been read before. */
  #takenBack = new Set<string>();
  #releasedUpTo: Timestamp = 0;

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    readonly vv: VersionVector,
    readonly peers: ReadonlyMap<RegionId, PeerProgress>,
    /** Whether every peer has verified the own disk (D10). */
    readonly isVerified: () => boolean,
  ) {
    this.#self = { node: state.node, machine: replicaName(partition) };
  }

  /** The lowest timestamp of an own group that is applied and not on disk yet. */
  get undurable(): Timestamp | undefined {
    const durable = this.vv.durable(this.state.region);
    return this.#unsent.find(({ ct }) => ct > durable)?.ct;
  }

  /** Whether a version was taken back under the present map. */
  hasTakenBack(version: Pick<Loss, 'txId' | 'ts'>): boolean {
    return this.#takenBack.has(nameOf(version));
  }

  /** An own group is applied: it leaves with a release, once it is durable. */
  add(group: LogGroup): void {
    this.#unsent.push(group);
  }

  /** Another map is in force. */
  adopted(): void {
    this.#takenBack.clear();
  }

  /** Removes the rest of a transaction after the loss of a disk, or a transaction that a map has deferred. */
  takeBack(loss: Pick<Loss, 'txId' | 'ts'>): void {
    this.#takenBack.add(nameOf(loss));
    this.#unsent = without(this.#unsent, loss);
  }

  /**
   * A Replicate is a promise (D1), so a round sends the groups that are on disk by now. One frame to each peer carries
   * them together with the round's gossip (P12).
   */
  release(out: Out): void {
    const verified = this.isVerified();
    const upTo = this.vv.durable(this.state.region);
    for (const { address, stream } of this.peers.values()) {
      const from = stream.sentUpTo;
      if (from === undefined || (from >= upTo && stream.verified === verified)) continue;
      const groups = this.#unsent.filter(({ ct }) => ct > from && ct <= upTo);
      const to = Math.max(from, upTo);
      sendRange(address, this.#origin, { from, to, groups }, false, out);
      stream.live(to, verified);
    }
    this.#unsent = this.#unsent.filter(({ ct }) => ct > upTo);
    this.#releasedUpTo = upTo;
  }

  /**
   * An answer to an older request can arrive after a request that was lost: then the receiver waits for the stream, and
   * the stream for the receiver. An empty range shows the receiver the gap (D6).
   */
  retry(out: Out): void {
    const to = this.vv.durable(this.state.region);
    for (const { address, stream } of this.peers.values())
      if (stream.retried()) sendRange(address, this.#origin, { from: to, to, groups: [] }, false, out);
  }

  /**
   * The log is read in a step of its own, so that the driver can bring the range to memory, and only as far as it is
   * durable: groups that still wait for the disk may not be in the log yet.
   */
  replay(region: RegionId, after: Timestamp, out: Out): void {
    const upTo = Math.max(after, this.vv.durable(this.state.region));
    out.send(this.#self, { type: 'ReplayLog', region, after, upTo });
  }

  onReplayLog({ region, after, upTo }: ReplayLog, out: Out): void {
    const { address, stream } = this.peers.get(region)!;
    const page = this.state.reader.log(this.partition, after, upTo);
    const more = page.upTo < upTo;
    const isLeft = (ts: Timestamp) => (tx: LoggedTx) => !this.hasTakenBack({ txId: tx.txId, ts });
    const groups = page.groups.map(({ ct, txs }) => ({ ct, txs: txs.filter(isLeft(ct)) }));
    sendRange(address, this.#origin, { from: after, to: page.upTo, groups }, more, out);
    if (more)
      stream.broken(); // the peer asks for the next page when it has this one
    else if (upTo < this.#releasedUpTo)
      this.replay(region, upTo, out); // a round has passed meanwhile
    else stream.live(upTo, this.isVerified());
  }

  get #origin(): Origin {
    const { region, topology } = this.state;
    return { partition: this.partition, source: region, verified: this.isVerified(), map: topology.version };
  }
}
