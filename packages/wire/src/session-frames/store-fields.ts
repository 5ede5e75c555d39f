/**
 * The fields of a node's frames that only a client with a store reads. They are types alone: a client without a store
 * ignores the fields, and does not load their checks.
 */
import type { Timestamp } from '@isochron/core/ids';

/** Of `welcome`. */
export interface WelcomeStoreFields {
  /**
   * A digest of the principal: the same for a user on every node and connection, and different for every other user
   * (U5). Absent where callers need no credentials.
   */
  readonly principal?: string;
}

/** A document of `listed` that the client has: `[unqualified key, commit timestamp]`, at or below `known`. */
export type KnownEntry = readonly [key: string, ct: Timestamp];
