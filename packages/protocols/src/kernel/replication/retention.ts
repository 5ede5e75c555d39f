/**
 * How long a replica keeps data: versions above the GC floor (P9), and its own log while a peer may ask for it (D5,
 * D10).
 */
import { MAX_TIMESTAMP, type PartitionId, type RegionId, type Timestamp } from '@isochron/core';
import type { Effects } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import { ChangeRetention } from './change-retention.js';
import { LoggedTimes } from './logged-times.js';
import type { ReplicationMessage } from './messages.js';
import type { PeerProgress } from './peer-progress.js';

/** The data of a replica when it starts, or when it continues with a copy. */
export interface Retained {
  /** Highest timestamp of a version. */
  readonly lastVersion: Timestamp;
  readonly gcFloor: Timestamp;
  /** Highest commit timestamp in the own log, and the highest that every peer has. */
  readonly logged: Timestamp;
  readonly truncatedUpTo: Timestamp;
  /** See {@link ChangeRetention.from}; undefined where the disk has no record of it. */
  readonly changesFrom?: Timestamp | undefined;
}

export class Retention {
  #gcFloor: Timestamp;
  /** Highest timestamp of a version: an idle replica has nothing to collect. */
  #lastVersion: Timestamp;
  readonly #logged: LoggedTimes;
  #truncatedUpTo: Timestamp;
  readonly #changes: ChangeRetention | undefined;

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    readonly peers: ReadonlyMap<RegionId, PeerProgress>,
    { lastVersion, gcFloor, logged, truncatedUpTo, changesFrom }: Retained,
  ) {
    this.#gcFloor = gcFloor;
    this.#lastVersion = lastVersion;
    this.#logged = new LoggedTimes(Math.max(logged, truncatedUpTo));
    this.#truncatedUpTo = truncatedUpTo;
    this.#changes = state.stableSnapshots ? new ChangeRetention(partition, state, changesFrom) : undefined;
    state.stable.recovered(gcFloor);
  }

  /** The log has the transactions of all regions above; undefined where it is not kept for readers of changes. */
  get changesFrom(): Timestamp | undefined {
    return this.#changes?.from;
  }

  /** Begins with the data of the disk, or of a copy. */
  start(out: Effects<ReplicationMessage>): void {
    if (this.#changes === undefined) return;
    const { partition } = this;
    // From the record of the changes on, a truncation no longer shows what every peer has.
    if (!this.#changes.isRecorded && this.#truncatedUpTo > 0)
      out.write({ kind: 'horizon', partition, horizon: 'logConfirmedUpTo', upTo: this.#truncatedUpTo });
    this.#changes.start(this.#lastVersion, out);
  }

  get gcFloor(): Timestamp {
    return this.#gcFloor;
  }

  /** Versions and entries of the own log below may be dropped. */
  get droppedUpTo(): Timestamp {
    return Math.max(this.#gcFloor, this.#truncatedUpTo);
  }

  /** Highest commit timestamp that this replica ever logged. */
  get lastLogged(): Timestamp {
    return this.#logged.last;
  }

  /** Versions of this timestamp are written. */
  stored(ct: Timestamp): void {
    this.#lastVersion = Math.max(this.#lastVersion, ct);
  }

  /** An own group is in the log. */
  logged(ct: Timestamp): void {
    this.#logged.add(ct);
  }

  /** Up to here the log is truncated, or the peer's disk has confirmed it. */
  truncatedFor(peer: PeerProgress): Timestamp {
    return Math.max(this.#truncatedUpTo, this.#logged.confirmedBy(peer, this.#confirmedBy(peer)));
  }

  /** A stable time shows what a peer has of the own log only as far as it counts both, in the same map. */
  #confirmedBy({ address }: PeerProgress): Timestamp {
    const { maps, node, stable } = this.state;
    return maps.confirmed([address.node, node], stable.aggregated);
  }

  /** The peers that may ask for the log: all but peers that never come back (M14). */
  get #present(): PeerProgress[] {
    return [...this.peers.values()].filter(({ address }) => !this.state.maps.isEvicted(address.node));
  }

  /** P9 and D5: versions below the floor that no snapshot needs, and log entries below UST. */
  collect(floor: Timestamp, out: Effects<ReplicationMessage>): void {
    const { partition, state } = this;
    if (floor > this.#gcFloor && this.#gcFloor < this.#lastVersion) {
      this.#gcFloor = floor;
      state.stable.collected(floor);
      out.write({ kind: 'horizon', partition, horizon: 'gcFloor', upTo: floor });
    }
    const stable = state.stable.aggregated;
    const confirmed = Math.min(stable, ...this.#present.map((peer) => this.#confirmedBy(peer)));
    const covered = this.#logged.truncate(this.#present, confirmed);
    if (covered > this.#truncatedUpTo) {
      this.#truncatedUpTo = covered;
      const horizon = this.#changes === undefined ? 'logTruncatedUpTo' : 'logConfirmedUpTo';
      out.write({ kind: 'horizon', partition, horizon, upTo: covered });
    }
    // A group that a peer's disk has not confirmed stays, whatever its age: the peer may ask for it (D10).
    const isConfirmed = this.#logged.last <= this.#truncatedUpTo;
    if (!isConfirmed && covered === 0) return;
    const upTo = isConfirmed ? MAX_TIMESTAMP : this.#truncatedUpTo;
    this.#changes?.collect(this.#lastVersion, upTo, isConfirmed || confirmed === stable, out);
  }
}
