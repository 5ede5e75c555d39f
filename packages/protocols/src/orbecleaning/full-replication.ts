/**
 * The full replication version vector (RVV) of one replica (Orbe, section 6.2): which updates of each region every
 * replica has. A replica acknowledges the updates that it has applied, on its disk, to their source; the source, when
 * all have, sends the others a completion. Both are cumulative: one message stands for all updates up to a timestamp,
 * leaves with the round's replication, and is not sent when nothing was written.
 *
 * A crash loses the vector: it begins again at UST, which every replica has reached.
 */
import type { RegionId, Timestamp, Version, WallMs } from '@isochron/core';
import { Addresses } from '../kernel/node-state.js';
import type { OperationMessage } from '../kernel/operations/messages.js';
import type { ReplicaPart, ReplicaView } from '../kernel/operations/protocol.js';
import type { Address, Effects } from '../machine.js';

type Out = Effects<OperationMessage>;

/** The progress of another region's replica. */
interface Peer {
  readonly address: Address;
  /** Its updates that were applied here and are not acknowledged, in their order. */
  readonly applied: Timestamp[];
  /** The newest that was acknowledged; after a link loss it is sent again. */
  acknowledged: Timestamp;
  again: boolean;
  /** Own updates that it has acknowledged. */
  has: Timestamp;
}

export class FullReplication implements ReplicaPart {
  readonly counters = { conflicts: 0, replicationAcks: 0, replicationsComplete: 0, cleaned: 0 };
  readonly #rvv = new Map<RegionId, Timestamp>();
  readonly #peers = new Map<RegionId, Peer>();
  /** The timestamp up to which completions were sent. */
  #completed: Timestamp;

  constructor(readonly replica: ReplicaView) {
    const { partition, replication } = replica;
    const { maps, topology, region, stable } = replication.state;
    const addresses = new Addresses(maps);
    this.#completed = stable.aggregated;
    for (const other of topology.regions) {
      this.#rvv.set(other, stable.aggregated);
      if (other === region) continue;
      const address = addresses.replica(partition, other);
      // Acknowledgements that a previous incarnation may not have sent.
      const acknowledged = replication.vv.applied(other);
      this.#peers.set(other, { address, applied: [], acknowledged, again: acknowledged > 0, has: 0 });
    }
  }

  /** "the first RVV[i] updates of p^i_n have been fully replicated". */
  entry(region: RegionId): Timestamp {
    return this.#rvv.get(region)!;
  }

  /** Whether every replica has it, and so all that it depends on. */
  covers({ region, ts }: Version): boolean {
    return this.#peers.size === 0 || this.entry(region) >= ts;
  }

  /** An update of a peer is applied in this step. */
  applied(source: RegionId, ts: Timestamp): void {
    this.#peers.get(source)!.applied.push(ts);
  }

  take(message: OperationMessage, _now: WallMs, from: Address): boolean {
    if (message.type !== 'ReplicationAck' && message.type !== 'ReplicationComplete') return false;
    const peer = this.#peers.get(message.region);
    // Only the replica of that region acknowledges for it (D12).
    if (peer === undefined || peer.address.node !== from.node) return true;
    if (message.type === 'ReplicationAck') this.#onAck(peer, message.upTo);
    else this.#raise(message.region, message.upTo);
    return true;
  }

  /** Acknowledgements of updates that are on disk by now, and completions, in the order of the updates. */
  round(now: WallMs, out: Out): void {
    const { partition, replication } = this.replica;
    if (replication.suspects(now)) return;
    const { region } = replication.state;
    const complete = this.entry(region);
    for (const [source, peer] of this.#peers) {
      if (this.#acknowledges(peer, replication.vv.durable(source))) {
        this.counters.replicationAcks++;
        out.send(peer.address, { type: 'ReplicationAck', partition, region, upTo: peer.acknowledged });
      }
      if (complete > this.#completed) {
        this.counters.replicationsComplete++;
        out.send(peer.address, { type: 'ReplicationComplete', partition, region, upTo: complete });
      }
    }
    this.#completed = Math.max(this.#completed, complete);
  }

  /** Messages in transit are lost with a link: the cumulative ones are sent again. */
  link(node: string, up: boolean): void {
    if (!up) return;
    for (const peer of this.#peers.values()) {
      if (peer.address.node !== node) continue;
      peer.again = peer.acknowledged > 0;
      this.#completed = 0;
    }
  }

  /** Whether an acknowledgement is due to a source: of updates that are on disk now, or again after a lost link. */
  #acknowledges(peer: Peer, durable: Timestamp): boolean {
    const from = peer.acknowledged;
    while (peer.applied.length > 0 && peer.applied[0]! <= durable) peer.acknowledged = peer.applied.shift()!;
    const due = peer.again || peer.acknowledged > from;
    peer.again = false;
    return due;
  }

  #onAck(peer: Peer, upTo: Timestamp): void {
    const { vv, state } = this.replica.replication;
    peer.has = Math.max(peer.has, Math.min(upTo, vv.durable(state.region)));
    const all = Math.min(...[...this.#peers.values()].map(({ has }) => has));
    this.#raise(state.region, all);
  }

  /** RVV ≤ VV: an update that is not here is not everywhere, whatever a peer claims (D12). */
  #raise(region: RegionId, upTo: Timestamp): void {
    const own = this.replica.replication.vv.durable(region);
    this.#rvv.set(region, Math.max(this.entry(region), Math.min(upTo, own)));
  }
}
