/**
 * The progress of one peer, as raft's `Progress`: how far its stream was received, and how much of it counts for UST
 * (D10).
 *
 * A peer whose disk is not verified may send a range with a gap. The range is applied, but the peer's version clock
 * counts only up to a cap, which is stored on the disk. If the disk was rolled back, the peer comes back as another
 * incarnation, and its stream is received again from the cap.
 *
 * | state       | the version clock counts | on                                  | next      |
 * | ----------- | ------------------------ | ----------------------------------- | --------- |
 * | `verified`  | as far as it goes        | a range that is not verified        | capped    |
 * | `capped`    | up to the cap            | a range that is verified            | lifting   |
 * |             |                          | the peer has lost its disk          | restarted |
 * | `restarted` | up to the cap            | verified, and all has come again    | lifting   |
 * |             |                          | verified, all up to a horizon (M5)  | restarted |
 * |             |                          | the peer has lost its disk again    | restarted |
 * | `lifting`   | up to the cap            | the record without the cap is durable | verified |
 * |             |                          | a range that is not verified        | capped    |
 *
 * A start with a cap on the disk begins in `restarted`.
 */
import type { Timestamp, WallMs } from '@isochron/core';
import type { Address, WriteSeq } from '../../machine.js';
import type { PeerBacklog } from './gate.js';
import { SendingEnd } from './replication-stream.js';

type State =
  | { readonly is: 'verified' }
  | { readonly is: 'capped'; readonly cap: Timestamp }
  | { readonly is: 'restarted'; readonly cap: Timestamp; readonly resentUpTo: Timestamp; readonly raise?: CapRaise }
  | { readonly is: 'lifting'; readonly cap: Timestamp; readonly seq: WriteSeq };

/** A higher cap, in force once its record is durable. */
interface CapRaise {
  readonly cap: Timestamp;
  readonly seq: WriteSeq;
}

/** The disk's data about a peer. */
export interface RecoveredPeer {
  readonly group: Timestamp;
  readonly incarnation: Timestamp;
  readonly cap: Timestamp | undefined;
}

/** A peer replica: another region's copy of the partition. */
export class PeerProgress {
  /** The stream to the peer. */
  readonly stream = new SendingEnd();
  /** When a resync was requested; 0 when none is awaited. */
  askedAt: WallMs = 0;
  /** Highest version clock received from the peer since the start. */
  clock: Timestamp = 0;
  /** Its version clock at its first report since the start: an older disk may lack versions at or below. */
  sourced: { readonly clock: Timestamp; readonly at: WallMs } | undefined;
  /** Highest `ct` of its groups that was ever applied. */
  group: Timestamp;
  /** Its incarnation, as known here. */
  incarnation: Timestamp;
  #state: State;
  /** Whether the last range came from a disk that every peer has verified. */
  #confirmed = false;

  /** @param held the groups that wait to be admitted, under protocols with a gate */
  constructor(
    readonly address: Address,
    readonly held: PeerBacklog | undefined,
    { group, incarnation, cap }: RecoveredPeer,
  ) {
    this.group = group;
    this.incarnation = incarnation;
    this.#state = cap === undefined ? { is: 'verified' } : { is: 'restarted', cap, resentUpTo: cap };
  }

  get state(): State['is'] {
    return this.#state.is;
  }

  /** How far the peer's version clock counts; undefined: as far as it goes. */
  get cap(): Timestamp | undefined {
    return this.#state.is === 'verified' ? undefined : this.#state.cap;
  }

  /** The cap to be stored on the disk. */
  get persistedCap(): Timestamp | undefined {
    if (this.#state.is === 'lifting') return undefined;
    return (this.#state.is === 'restarted' ? this.#state.raise?.cap : undefined) ?? this.cap;
  }

  /** Everything up to here was received again; undefined unless the stream is received again. */
  get resentUpTo(): Timestamp | undefined {
    return this.#state.is === 'restarted' ? this.#state.resentUpTo : undefined;
  }

  /** Everything that it sourced up to here was received, given that it is applied up to `applied`. */
  receivedUpTo(applied: Timestamp): Timestamp {
    return this.resentUpTo ?? Math.max(applied, this.held?.received ?? 0);
  }

  /**
   * A range was received, from a disk that is verified or not; without verification only earlier data count. Returns
   * whether a cap is new.
   */
  rangeCame(verified: boolean, before: Timestamp): boolean {
    this.#confirmed = verified;
    if (verified || this.persistedCap !== undefined) return false;
    this.#state = { is: 'capped', cap: this.cap ?? before };
    return true;
  }

  /** The peer itself sent its version clock. */
  clockCame(to: Timestamp): void {
    this.clock = Math.max(this.clock, to);
    if (this.#state.is === 'restarted')
      this.#state = { ...this.#state, resentUpTo: Math.max(this.#state.resentUpTo, to) };
  }

  /**
   * The peer has lost its disk: all data beyond the cap are received again, and all earlier data that are not applied.
   */
  restartFrom(applied: Timestamp): void {
    this.#confirmed = false;
    if (this.#state.is !== 'capped' && this.#state.is !== 'restarted') return;
    const { cap } = this.#state;
    this.#state = { is: 'restarted', cap, resentUpTo: Math.min(cap, applied) };
  }

  /** Whether the cap can go: the disk is verified, everything was received again, and no part of it waits. */
  mayLift(applied: Timestamp): boolean {
    if (!this.#confirmed || this.persistedCap === undefined) return false;
    const { resentUpTo } = this;
    return resentUpTo === undefined || (resentUpTo >= applied && (this.held?.groups.length ?? 0) === 0);
  }

  /** @param keep writes the caps of all peers, now without this one */
  lift(keep: () => WriteSeq): void {
    const cap = this.cap!;
    this.#state = { is: 'lifting', cap, seq: 0 };
    this.#state = { is: 'lifting', cap, seq: keep() };
  }

  /**
   * Whether the cap can go up to the horizon of the next map: all up to there was received again, from a verified disk.
   * The rest comes once that map is adopted, for which a lower cap would wait in vain (M5).
   */
  mayRaise(horizon: Timestamp): boolean {
    const { resentUpTo = 0, persistedCap = horizon } = this;
    return this.#confirmed && persistedCap < horizon && resentUpTo >= horizon && (this.held?.groups.length ?? 0) === 0;
  }

  /** @param keep writes the caps of all peers */
  raise(cap: Timestamp, keep: () => WriteSeq): void {
    if (this.#state.is !== 'restarted') return;
    const state = this.#state;
    this.#state = { ...state, raise: { cap, seq: 0 } };
    this.#state = { ...state, raise: { cap, seq: keep() } };
  }

  persisted(upTo: WriteSeq): void {
    if (this.#state.is === 'lifting' && this.#state.seq <= upTo) this.#state = { is: 'verified' };
    if (this.#state.is !== 'restarted') return;
    const { raise, ...state } = this.#state;
    if (raise !== undefined && raise.seq <= upTo) this.#state = { ...state, cap: raise.cap };
  }
}
