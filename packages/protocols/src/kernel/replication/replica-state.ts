/** What a replica starts with and what it knows of its peers. */
import type { RegionId, Timestamp, WallMs } from '@isochron/core';
import type { Address } from '../../machine.js';
import type { Held } from './gate.js';
import type { SendingEnd } from './replication-stream.js';
import type { Doubt } from './rollback-watch.js';
import type { Trust } from './trust.js';

/** What a replica finds on its disk (D7). */
export interface RecoveredReplica {
  /** Per hosting region: `max(durable VV, durable ust)`. */
  readonly versionVector: readonly (readonly [RegionId, Timestamp])[];
  /** Highest `ct` of a group that came from each peer. */
  readonly heard: { readonly [region: RegionId]: Timestamp };
  /** Since when each peer has the disk that it had last: its `lostUpTo`. */
  readonly lives: { readonly [region: RegionId]: Timestamp };
  /** How far each peer's version clock counts, where it has a limit (`Trust`). */
  readonly limits: { readonly [region: RegionId]: Timestamp };
  readonly doubt: Doubt;
  readonly gcFloor: Timestamp;
  readonly forgottenUpTo: Timestamp;
  /** Highest commit timestamp that was ever truncated from the own log, and that is in it. */
  readonly truncatedUpTo: Timestamp;
  readonly logged: Timestamp;
}

/** What a replica that lost its data starts with again (D10). */
export interface RebuiltReplica {
  readonly vector: ReadonlyMap<RegionId, Timestamp>;
  /** Highest `ct` of a copied group of each peer: its disk had it, and may have been rolled back since. */
  readonly heard: ReadonlyMap<RegionId, Timestamp>;
  readonly gcFloor: Timestamp;
  readonly forgottenUpTo: Timestamp;
  readonly logged: Timestamp;
  /** The newest own group that is not in the new log, because it is universally stable. */
  readonly truncatedUpTo: Timestamp;
}

/** A peer replica: another region's copy of the partition. */
export interface Peer {
  readonly address: Address;
  readonly stream: SendingEnd;
  /** When a resync was asked for; 0 when none is awaited. */
  askedAt: WallMs;
  /** Highest version clock that came from it since the start. */
  clock: Timestamp;
  /** Highest `ct` of a group of it that was ever applied. */
  group: Timestamp;
  /** Its `lostUpTo`, as far as it is known here: what it has said since then counts. */
  life: Timestamp;
  readonly trust: Trust;
  /** What waits to be admitted, under protocols with a gate. */
  readonly held: Held | undefined;
}
