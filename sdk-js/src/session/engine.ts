/** What of a client depends on the kind of the cluster's protocol. */
import type { QualifiedKey, Timestamp, Value } from '@isochron/core/ids';
import type { Session } from '@isochron/protocols/kernel/transactions/session';
import type { Welcome } from '../transport/frames.js';
import type { SessionCore } from './core.js';
import type { ExportedState, ImportedSession } from './exported.js';
import type { Committed } from './outcome.js';

export interface Engine {
  /** The session of transactions; undefined where there are none. */
  readonly session: Session | undefined;
  /** Timestamp of the highest snapshot that the session has seen; where none has a timestamp, the highest stable time. */
  readonly ust: Timestamp;
  /** What a node says of the session, and of itself. */
  welcomed(welcome: Welcome): void;
  /** A stable time. */
  stable(ust: Timestamp): void;
  /** Reads keys at once, in order; null where there is no value. */
  read(keys: readonly QualifiedKey[], signal: AbortSignal | undefined): Promise<readonly (Value | null)[]>;
  write(key: QualifiedKey, value: Value | null, signal: AbortSignal | undefined): Promise<Committed>;
  /** Gives up the order behind the write that is under way: goes on as another session that does not follow it. */
  detach(): void;
  export(): ExportedState;
}

/** Begins a session, or goes on with an imported one. Throws TOKEN_INVALID where that is of another kind. */
export type OpenEngine = (core: SessionCore, welcome: Welcome, imported: ImportedSession | undefined) => Engine;
