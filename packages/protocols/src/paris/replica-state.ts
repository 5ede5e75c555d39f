/** What a replica starts with, what it knows of its peers, and the messages that it takes. */
import type { RegionId, Timestamp, WallMs } from '@isochron/core';
import type { SendingEnd } from '../kernel/replication-stream.js';
import type { Address } from '../machine.js';
import type { ParisMessage } from './messages.js';

/** The messages that a replica takes. */
export type ReplicaMessage = Extract<
  ParisMessage,
  {
    type:
      | 'ReadSliceReq'
      | 'ListSliceReq'
      | 'PrepareReq'
      | 'CommitTx'
      | 'AbortTx'
      | 'ResolveReq'
      | 'ResolveResp'
      | 'OutcomeReq'
      | 'Replicate'
      | 'Heartbeat'
      | 'ResyncReq'
      | 'ResyncRefused'
      | 'ReplayLog'
      | 'CopyReq'
      | 'ReadCopy';
  }
>;

/** What a replica finds on its disk (D7). */
export interface RecoveredReplica {
  /** Per hosting region: `max(durable VV, durable ust)`. */
  readonly versionVector: readonly (readonly [RegionId, Timestamp])[];
  readonly gcFloor: Timestamp;
  readonly forgottenUpTo: Timestamp;
  /** Highest commit timestamp that was ever truncated from the own log, and that is in it. */
  readonly truncatedUpTo: Timestamp;
  readonly logged: Timestamp;
}

/** What a replica that lost its data starts with again (D10). */
export interface RebuiltReplica {
  readonly vector: ReadonlyMap<RegionId, Timestamp>;
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
  /** Highest version clock and highest `ct` of a group that came from it since the start. */
  clock: Timestamp;
  group: Timestamp;
}
