/** The interface of a session for an application, in simulated time. */
import type { HandleMode } from '@isochron/client';
import type { Content, NodeId, QualifiedKey, Timestamp, TxId, Value } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { Co } from '../engine/coroutine.js';

/** A read as the application sees it. */
export interface Seen {
  readonly key: QualifiedKey;
  readonly value: Value | null;
}

/** The start of a session: the exported state of another one, the token of another one, or nothing. */
export type Carried = { readonly session?: string; readonly token?: string | undefined };

/** A session, as an SDK gives it to an application. */
export interface ClientSession {
  /** Exports the session for a successor: the whole state, as an SDK exports it, or its token. */
  export(part: keyof Carried): Carried;
  /** A node reports its stable time. */
  observe(ust: Timestamp): void;
  /** How many own writes it keeps, because its snapshots may not have them yet. */
  readonly cached: number;
  begin(options: BeginOptions): ClientTransaction;
  /** The outcome of another transaction, as a node reports it. */
  /** Its principal in the stored ids of its transactions (U4). */
  readonly holder: string;
  status(txId: TxId): Co<{ readonly status: string; readonly ts: Timestamp | null }>;
}

export interface BeginOptions {
  readonly mode: HandleMode;
  /** Reads exactly this snapshot, without own writes. */
  readonly at?: Snapshot;
}

/** A transaction as an SDK gives it to an application. Waiting ends with a result or throws {@link RequestFailed}. */
export interface ClientTransaction {
  readonly id: TxId;
  readonly snapshot: Snapshot | undefined;
  read(keys: readonly QualifiedKey[]): Co<readonly Seen[]>;
  /** One page, with own writes laid over it; `next` is where the following one starts. */
  list(keyspace: string, start: QualifiedKey, limit: number): Co<{ seen: readonly Seen[]; next: QualifiedKey | null }>;
  write(key: QualifiedKey, value: Content): void;
  commit(sending: CommitHooks): Co<CommitResult>;
  /** Ends it without a commit. */
  end(): void;
}

/** The faults that a plan applies to a commit while it is under way. */
export interface CommitHooks {
  /** The request will reach another coordinator as well: a refusal by this one does not settle it. */
  readonly duplicated: boolean;
  /** The request has been sent to this node, for the first time. */
  sent(resend: (region: string) => void, node: NodeId): void;
}

export type CommitResult =
  | { readonly status: 'committed'; readonly ct: Timestamp }
  /** The commit has not taken effect and never will. */
  | { readonly status: 'aborted'; readonly code: string }
  /** Refused for good, with an open outcome. */
  | { readonly status: 'unknown'; readonly code: string };

/** A request that an SDK gives up: the application gets an error. */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed';

  constructor(
    readonly code: string,
    /** The versions that an open transaction reads were garbage collected (P9). */
    readonly collected = false,
  ) {
    super(code);
  }
}
