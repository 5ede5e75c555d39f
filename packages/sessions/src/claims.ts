/** The claims of a session token. The signer of tokens defines their bytes. */
import type { NodeId, Timestamp } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';

/** A session's write cache as a token names it. */
export interface CacheName {
  readonly session: string;
  /** The node that keeps it. */
  readonly node: NodeId;
  /** The number of its changes that the token's bearer depends on: a copy with fewer lacks own writes. */
  readonly changes: number;
}

/** The claims of a token. */
export interface SessionClaims {
  /** Version of the map of the node that has made it, or of its last write while that may be deferred; absent for 0. */
  readonly map?: number;
  /** The highest snapshot that the session has seen. */
  readonly seen: Snapshot;
  /** The highest commit timestamp of its writes; 0 when the seen snapshot shows them. */
  readonly hwt: Timestamp;
  /** The write cache of the session, and the node that keeps it. */
  readonly cache?: CacheName | undefined;
}
