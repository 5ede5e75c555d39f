/** The outcomes of commits: their answers, and later queries. */
import { type ErrorCode, IsochronError, type NodeId, packWall, type Timestamp, type TxId } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { TxState } from '@isochron/wire/session-frames';
import type { CoordinatorPort, CoordinatorPortFor, CoordinatorRequest } from './coordinator-port.js';
import type { Done } from './request-port.js';

/** These end a commit without a decision of its cohorts: it may have taken effect, and must not look refused (D2). */
const UNDECIDED: ReadonlySet<ErrorCode> = new Set(['CONNECTION_LOST', 'OUTCOME_UNKNOWN', 'OUTCOME_PENDING']);
/** Queries that may be under way at a time: each one goes to every replica of every partition. */
const MAX_QUESTIONS = 32;

/** A commit that is not known to have failed. Names its transaction, for a repetition or a query. */
export class UndecidedError extends IsochronError {
  constructor(
    readonly txId: TxId,
    cause: IsochronError,
  ) {
    super(cause.code === 'CONNECTION_LOST' ? 'OUTCOME_UNKNOWN' : cause.code, cause.message, { cause });
  }
}

/** The error of a commit: an {@link UndecidedError} if it may have taken effect. */
export const undecided = <E>(txId: TxId, error: E): E | UndecidedError =>
  error instanceof IsochronError && UNDECIDED.has(error.code) ? new UndecidedError(txId, error) : error;

/** The status of a transaction. */
export interface TxStatus {
  readonly status: TxState;
  /** Commit timestamp, or the snapshot of an open transaction. */
  readonly ts: Timestamp | null;
}

/** The node that answers queries for outcomes. */
export interface OutcomesNode {
  now(): number;
  ust(): Timestamp;
  /** How long the cluster keeps outcomes. */
  readonly outcomeRetentionMs: number;
}

/** The fields of a commit, and the snapshot that its transaction has read. */
export interface CommitCall extends Omit<CoordinatorRequest<'CommitReq'>, 'type' | 'snapshot' | 'deps'> {
  /** Null: that of the transaction, which the coordinator has open. */
  readonly known: Snapshot | null;
}

/** What a commit has given. */
export interface PlacedCommit extends Snapshot {
  /** Numbers of the nodes with slices; absent where the coordinator does not know them. */
  readonly nodes?: readonly number[] | undefined;
  /** Version of the map of the attempt that has committed. */
  readonly map?: number | undefined;
  /** Only a later commit of the queue shows this commit, which lies at or below `ts` (OF2). */
  readonly upTo?: boolean | undefined;
}

/**
 * Commits, and distinguishes a refusal from a lost answer. Ends with the commit timestamp and its dependencies, with an
 * UndecidedError if it may have taken effect, or with another IsochronError if it has not.
 */
export function commitThrough(
  port: CoordinatorPortFor<'CommitReq'>,
  { txId, known, hwt, sentAfter, attemptRegions, avoids, maps, principal, writes, behind, first, queue }: CommitCall,
  done: Done<PlacedCommit>,
  coordinator?: NodeId,
): void {
  const [snapshot, deps] = [known?.ts ?? null, known?.deps];
  port.ask(
    // Every field by its name: Node 20 takes 8 µs for a literal with spreads here.
    {
      type: 'CommitReq',
      txId,
      snapshot,
      hwt,
      sentAfter,
      attemptRegions,
      principal,
      writes,
      deps,
      avoids,
      maps,
      behind,
      first,
      queue,
    },
    (result) => {
      if (result instanceof IsochronError) done(undecided(txId, result));
      else done({ ts: result.ct, deps: result.deps, nodes: result.nodes, map: result.map, upTo: result.upTo });
    },
    coordinator,
  );
}

export class OutcomeQuestions {
  #questions = 0;

  constructor(
    readonly coordinator: CoordinatorPort,
    readonly node: OutcomesNode,
  ) {}

  /**
   * Queries the status of a transaction: at the node that may have it open, if one is named, and at this node if that
   * one does not answer. `sentAfter` is the stable time when it was sent, or an earlier one: an unknown transaction
   * that was sent before the retained outcomes is *forgotten* (D5). Ends with `OVERLOADED` while too many queries are
   * under way.
   */
  status(txId: TxId, sentAfter: Timestamp | null, done: Done<TxStatus>, coordinator?: NodeId): void {
    if (this.#questions >= MAX_QUESTIONS) {
      const detail = 'Too many ask for outcomes at the same time. Repeat the request.';
      done(new IsochronError('OVERLOADED', detail));
      return;
    }
    this.#questions++;
    this.#ask(txId, coordinator, (result) => {
      this.#questions--;
      done(result instanceof IsochronError ? result : this.#judged(result, sentAfter));
    });
  }

  #ask(txId: TxId, coordinator: NodeId | undefined, done: Done<TxStatus>): void {
    const request = { type: 'TxStatusReq', txId } as const;
    if (coordinator === undefined) {
      this.coordinator.ask(request, done);
      return;
    }
    const orHere: Done<TxStatus> = (result) => {
      if (result instanceof IsochronError && result.code === 'CONNECTION_LOST') this.#ask(txId, undefined, done);
      else done(result);
    };
    this.coordinator.ask(request, orHere, coordinator);
  }

  #judged({ status, ts }: TxStatus, sentAfter: Timestamp | null): TxStatus {
    const forgotten = status === 'unknown' && sentAfter !== null && sentAfter < this.#forgottenBefore();
    return { status: forgotten ? 'forgotten' : status, ts };
  }

  /** Outcomes of transactions that were sent before this may be gone. */
  #forgottenBefore(): Timestamp {
    const { node } = this;
    return Math.min(node.ust(), packWall(node.now() - node.outcomeRetentionMs));
  }
}
