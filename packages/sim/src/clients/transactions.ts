/** The reads and writes of a session of the client machine: transactions, or single operations. */
import type { Call, Committed, HandleId, MergedPage } from '@isochron/client';
import { mergedPage } from '@isochron/client/session/listing';
import {
  type Content,
  type NodeId,
  type QualifiedKey,
  type RegionId,
  type TxId,
  Update,
  type Value,
} from '@isochron/core';
import type { SessionTransaction, Snapshot } from '@isochron/protocols';
import { storedTxId } from '@isochron/sessions';
import type { Co } from '../engine/coroutine.js';
import {
  type BeginOptions,
  type ClientTransaction,
  type CommitHooks,
  type CommitResult,
  RequestFailed,
  type Seen,
} from './session.js';

/** The session, as its transactions see it. */
export interface TransactionsSession {
  readonly id: string;
  /** Its principal in the stored ids of its transactions (U4). */
  readonly holder: string;
  call(call: Call): Co<unknown>;
  end(handle: HandleId): void;
  /** Whether the server has had the handle's snapshot in use ever since it assigned it. */
  isInUse(handle: HandleId): boolean;
  /** Reports the next commit of this id when it is sent first. */
  watch(txId: TxId, hooks: CommitHooks, snapshot: () => Snapshot): void;
  /** Reports the next PUT when it is sent first. */
  watchPut(sent: (txId: TxId, resend: (region: RegionId) => void, node: NodeId) => void): void;
}

export class MachineTransaction implements ClientTransaction {
  #ended = false;

  constructor(
    readonly session: TransactionsSession,
    readonly handle: HandleId,
    readonly tx: SessionTransaction,
    readonly options: BeginOptions,
  ) {}

  get id(): TxId {
    return storedTxId(this.tx.id, this.session.holder);
  }

  get snapshot(): Snapshot | undefined {
    return this.tx.snapshot === undefined ? this.options.at : this.tx.read;
  }

  *read(keys: readonly QualifiedKey[]): Co<readonly Seen[]> {
    const values = (yield* this.#call({ f: 'read', handle: this.handle, keys })) as readonly (Value | null)[];
    return keys.map((key, i) => ({ key, value: values[i]! }));
  }

  *list(
    keyspace: string,
    start: QualifiedKey,
    limit: number,
  ): Co<{ seen: readonly Seen[]; next: QualifiedKey | null }> {
    const from = start.slice(keyspace.length + 1);
    const request = { keyspace, prefix: '', start: from, limit };
    const { entries, next } = (yield* this.#call({
      f: 'list',
      merge: mergedPage,
      handle: this.handle,
      request,
    })) as MergedPage;
    const seen = entries.map(([key, value]) => ({ key: `${keyspace}/${key}`, value }));
    return { seen, next: next === null ? null : `${keyspace}/${next}` };
  }

  write(key: QualifiedKey, value: Content): void {
    this.tx.write(key, value);
  }

  *commit(hooks: CommitHooks): Co<CommitResult> {
    this.#ended = true;
    this.session.watch(this.tx.id, hooks, () => this.tx.read);
    return yield* committed(this.session.call({ f: 'commit', handle: this.handle }), hooks);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.session.end(this.handle);
  }

  /**
   * A snapshot in use is never collected, but its lease may have ended before the read arrived. The server has no such
   * transaction then, when the read is repeated, and the handle opens it anew.
   */
  *#call(call: Call): Co<unknown> {
    try {
      return yield* this.session.call(call);
    } catch (error) {
      if (!isTooOld(error) || !this.session.isInUse(this.handle)) throw error;
    }
    try {
      return yield* this.session.call(call);
    } catch (error) {
      if (!isTooOld(error)) throw error;
      throw new RequestFailed(error.code, this.session.isInUse(this.handle));
    }
  }
}

const isTooOld = (error: unknown): error is RequestFailed =>
  error instanceof RequestFailed && error.code === 'SNAPSHOT_TOO_OLD';

/** A GET, a read-only transaction, or a PUT. Its id is known once it is sent. */
export class MachineOperation implements ClientTransaction {
  /** The client is not given the snapshot. */
  readonly snapshot = undefined;
  id: TxId;
  #write: { readonly key: QualifiedKey; readonly value: Value | null } | undefined;

  constructor(
    readonly session: TransactionsSession,
    number: number,
  ) {
    this.id = `${session.id}.unsent-${number}`;
  }

  *read(keys: readonly QualifiedKey[]): Co<readonly Seen[]> {
    const values = (yield* this.session.call({ f: 'read', keys })) as readonly (Value | null)[];
    return keys.map((key, i) => ({ key, value: values[i]! }));
  }

  list(): never {
    throw new RequestFailed('NOT_SUPPORTED_BY_PROTOCOL');
  }

  write(key: QualifiedKey, value: Content): void {
    if (this.#write !== undefined || value instanceof Update) throw new RequestFailed('NOT_SUPPORTED_BY_PROTOCOL');
    this.#write = { key, value };
  }

  *commit(hooks: CommitHooks): Co<CommitResult> {
    this.session.watchPut((txId, resend, node) => {
      this.id = txId;
      hooks.sent(resend, node);
    });
    return yield* committed(this.session.call({ f: 'write', ...this.#write! }), hooks);
  }

  end(): void {}
}

/**
 * The result of a commit. An SDK promises that after every error with a settled outcome the commit has not taken
 * effect.
 */
function* committed(call: Co<unknown>, hooks: CommitHooks): Co<CommitResult> {
  try {
    const { timestamp: ct } = (yield* call) as Committed;
    return { status: 'committed', ct };
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error;
    const { code } = error;
    // A commit that was sent to another coordinator as well may take effect there, unless that was ruled out durably.
    const isOpen = code.startsWith('OUTCOME_') || (hooks.duplicated && code !== 'TRANSACTION_ABORTED');
    return { status: isOpen ? 'unknown' : 'aborted', code };
  }
}
