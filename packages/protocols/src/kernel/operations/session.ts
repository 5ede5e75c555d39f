/**
 * The client of protocols of single operations: its `seen` goes with every request, and grows with every answer. It
 * runs one operation at a time, as the papers' clients do.
 *
 * Invariants: OS1 one operation is under way. OS2 what was seen stays seen: by default no entry ever falls.
 */
import {
  type Dependency,
  type Deps,
  invariant,
  type QualifiedKey,
  type RegionId,
  type Timestamp,
  type TxId,
  txIdOf,
  type Value,
} from '@isochron/core';
import type { GetReq, GetResp, OperationRequest, PutReq, PutResp, RotReq, RotResp } from './messages.js';

/** A request as a session makes it; its sender adds a reference. */
export type OperationBody = { [R in OperationRequest as R['type']]: Omit<R, 'ref'> }[OperationRequest['type']];

/** How a session merges what it has seen. */
export interface OperationSessionRules {
  /** The former `seen` and an answer's. */
  merge(seen: Deps, more: Deps): Deps;
  /** The same after a PUT. */
  wrote(seen: Deps, more: Deps): Deps;
  /** Under protocols whose dependencies name keys: its dependencies, given what it has seen. */
  readonly depends?: {
    merge(depends: readonly Dependency[], more: readonly Dependency[], seen: Deps): readonly Dependency[];
    wrote(depends: readonly Dependency[], more: readonly Dependency[], seen: Deps): readonly Dependency[];
  };
  /** The id of its next read-only transaction, under protocols that remember readers. */
  rotId?(session: OperationSession): TxId;
}

/** Everything that makes a session, to continue it elsewhere (D9). */
export interface OperationSessionState {
  readonly seen: Deps;
  /** The region where it was seen. */
  readonly region: RegionId;
  readonly ust: Timestamp;
  readonly depends?: readonly Dependency[] | undefined;
}

/** The highest of both, entry by entry; an empty vector for nothing seen. */
export function entrywiseMax(a: Deps, b: Deps): Deps {
  if (a.length === 0) return b;
  return a.map((ts, i) => Math.max(ts, b[i] ?? 0));
}

/** For vectors and scalars: the highest, entry by entry. */
export const highest: OperationSessionRules = { merge: entrywiseMax, wrote: entrywiseMax };

export class OperationSession {
  #seen: Deps;
  #region: RegionId;
  /** The region that its requests go to. */
  #at: RegionId;
  #ust: Timestamp;
  #depends: readonly Dependency[];
  #counter = 0;
  #underWay: OperationBody | undefined;

  /**
   * @param id 128 random bits as text, never used by another session: a session that is imported gets a new one (P8)
   * @param region the region that it is connected to
   */
  constructor(
    readonly id: string,
    region: RegionId,
    readonly rules: OperationSessionRules = highest,
    state: OperationSessionState = { seen: [], region, ust: 0 },
  ) {
    this.#at = region;
    this.#seen = state.seen;
    this.#region = state.region;
    this.#ust = state.ust;
    this.#depends = state.depends ?? [];
  }

  /** What it has seen, in the protocol's entries. */
  get seen(): Deps {
    return this.#seen;
  }

  /** The versions that it depends on, under protocols whose dependencies name keys. */
  get depends(): readonly Dependency[] {
    return this.#depends;
  }

  /** The region where it has seen that. */
  get region(): RegionId {
    return this.#region;
  }

  /** The highest stable time known to it. It needs one before it writes (D5). */
  get ust(): Timestamp {
    return this.#ust;
  }

  /** A stable time from a node. */
  observe(ust: Timestamp): void {
    if (ust > this.#ust) this.#ust = ust;
  }

  /** Continues in another region. A PUT without a known outcome goes there with `retry`. */
  move(region: RegionId): void {
    this.#at = region;
    if (this.#underWay?.type !== 'PutReq') this.#underWay = undefined;
  }

  get(key: QualifiedKey): Omit<GetReq, 'ref'> {
    return this.#begin({ type: 'GetReq', key, seen: this.#seen, region: this.#region });
  }

  rot(keys: readonly QualifiedKey[]): Omit<RotReq, 'ref'> {
    const id = this.rules.rotId?.(this);
    return this.#begin({ type: 'RotReq', keys, seen: this.#seen, region: this.#region, ...(id && { id }) });
  }

  /**
   * The result is sent, and sent again, until the outcome is known (D4). `txId`: an earlier result of {@link nextTxId}.
   */
  put(
    key: QualifiedKey,
    value: Value | null,
    principal = 'anonymous',
    txId: TxId = this.nextTxId(),
  ): Omit<PutReq, 'ref'> {
    return this.#begin({
      type: 'PutReq',
      txId,
      key,
      value,
      seen: this.#seen,
      region: this.#region,
      sentAfter: this.#ust,
      attemptRegions: [this.#at],
      principal,
      ...this.#named(),
    });
  }

  /** The PUT under way, for the region that the session is connected to now: another home is another attempt (D4). */
  retry(): Omit<PutReq, 'ref'> {
    const put = this.#underWay;
    invariant(put?.type === 'PutReq', 'no PUT is under way');
    const attemptRegions =
      put.attemptRegions.at(-1) === this.#at ? put.attemptRegions : [...put.attemptRegions, this.#at];
    this.#underWay = { ...put, attemptRegions };
    return this.#underWay as Omit<PutReq, 'ref'>;
  }

  /** The answer to the operation under way. */
  answered(answer: GetResp | PutResp | RotResp): void {
    invariant(this.#underWay !== undefined, 'no operation is under way');
    this.#underWay = undefined;
    const wrote = answer.type === 'PutResp';
    this.#seen = wrote ? this.rules.wrote(this.#seen, answer.seen) : this.rules.merge(this.#seen, answer.seen);
    const { depends } = this.rules;
    const remember = wrote ? depends?.wrote : depends?.merge;
    if (remember !== undefined) this.#depends = remember(this.#depends, answer.depends ?? [], this.#seen);
    this.#region = wrote ? answer.region : this.#at;
    this.observe(answer.ust);
  }

  /** The operation under way was refused, and has had no effect. */
  refused(): void {
    this.#underWay = undefined;
  }

  /** The whole session, to continue elsewhere (D9). */
  export(): OperationSessionState {
    return { seen: this.#seen, region: this.#region, ust: this.#ust, ...this.#named() };
  }

  /** An id that no other PUT has. */
  nextTxId(): TxId {
    return txIdOf(this.id, this.#counter++);
  }

  /** Absent if there are none. */
  #named(): { readonly depends?: readonly Dependency[] } {
    return this.#depends.length === 0 ? {} : { depends: this.#depends };
  }

  #begin<B extends OperationBody>(body: B): B {
    invariant(this.#underWay === undefined, 'OS1: one operation at a time');
    this.#underWay = body;
    return body;
  }
}
