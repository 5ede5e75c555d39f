/** The part of a client that depends on the protocol's family. */
import type { Content, QualifiedKey, Timestamp, Value } from '@isochron/core/ids';
import type { Session } from '@isochron/protocols/kernel/transactions/session';
import type { Caller, Cancellable } from '../link/exchange.js';
import type { Welcome } from '../link/frames.js';
import type { ExportedState, ImportedSession } from './exported.js';
import type { ClientKit } from './kit.js';
import type { Committed } from './outcome.js';
import type { ClientParts } from './parts.js';

export interface Engine {
  /** The session of transactions; undefined under protocols without them. */
  readonly session: Session | undefined;
  /**
   * Timestamp of the highest snapshot that the session has seen; under protocols without such timestamps, the highest
   * stable time.
   */
  readonly ust: Timestamp;
  /** A node has sent its welcome. */
  welcomed(welcome: Welcome): void;
  /** Takes a stable time. */
  stable(ust: Timestamp): void;
  /** Reads keys at once, in order; null for an absent one. */
  read(keys: readonly QualifiedKey[], caller: Caller<readonly (Value | null)[]>): Cancellable | undefined;
  /** An update only where the protocol has the capability `updates`. */
  write(key: QualifiedKey, content: Content, caller: Caller<Committed>): Cancellable | undefined;
  /** Gives up the order behind the write that is under way: goes on as another session that does not follow it. */
  detach(): void;
  export(): ExportedState;
}

/** Begins a session, or goes on with an imported one. Throws TOKEN_INVALID for a session of another kind. */
export type OpenEngine = (
  core: ClientParts,
  kit: ClientKit,
  welcome: Welcome,
  imported: ImportedSession | undefined,
) => Engine;
