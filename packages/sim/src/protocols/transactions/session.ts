/** What an SDK does with a session, request by request, in simulated time. The protocol's own session is inside. */
import {
  compareKeys,
  type Deps,
  type ErrorCode,
  type QualifiedKey,
  type Timestamp,
  type TxId,
  type Value,
} from '@isochron/core';
import {
  type Session,
  type SessionState,
  SessionTransaction,
  type Snapshot,
  type TransactionMessage,
} from '@isochron/protocols';
import type { ClientIo, Connection } from '../../clients/io.js';
import type { Co } from '../../engine/coroutine.js';
import {
  type BeginOptions,
  type ClientTransaction,
  type CommitHooks,
  type CommitResult,
  type ProtocolSession,
  RequestFailed,
  type Seen,
} from '../adapter.js';
import { isRetryable } from '../retries.js';
import { isSameSnapshot } from '../snapshot.js';
import { Commit } from './commit.js';
import type { NodeMessage } from './message.js';

export type Io = ClientIo<NodeMessage>;
type Link = Connection<NodeMessage>;
/** Which snapshot is asked for: this one, or the newest, which must have what the session has seen. */
type Asked = { readonly ust: Timestamp; readonly at: Timestamp | null; readonly deps: Deps | undefined };
/** Where a read reads: in an open transaction, or in a snapshot. */
type Where = Asked & { readonly txId: TxId | null };
type Answer = Extract<TransactionMessage, { type: 'ReadResp' | 'ListResp' }>;

export class SimSession implements ProtocolSession {
  constructor(
    readonly session: Session,
    readonly io: Io,
  ) {}

  get ust(): Timestamp {
    return this.session.ust;
  }

  get cached(): number {
    return this.session.cacheSize;
  }

  export(): SessionState {
    return this.session.export();
  }

  observe(ust: Timestamp): void {
    this.session.stable(ust);
  }

  begin(options: BeginOptions): ClientTransaction {
    return new SimTransaction(this, options);
  }

  *status(txId: TxId): Co<{ readonly status: string; readonly ts: Timestamp | null }> {
    const connection = yield* this.io.connection();
    const answer = yield* this.io.call(
      connection,
      (ref) => ({ type: 'TxStatusReq', ref, txId }),
      this.io.requestTimeoutMs,
    );
    if (answer?.type !== 'TxStatusResp') throw new RequestFailed('CONNECTION_LOST');
    return answer;
  }
}

/** A transaction, or a snapshot, that opens itself with its first read, and again wherever the connection goes (D8). */
export class SimTransaction implements ClientTransaction {
  readonly tx: SessionTransaction;
  readonly io: Io;
  readonly session: Session;
  /** The snapshot that is asked for: none at first, the assigned one ever after. */
  #at: Snapshot | undefined;
  /** The server knows it by this id: a new one for every opening. */
  #wireId: TxId;
  #openOn: Link | undefined;
  /** The opening that got a snapshot of the server's choice, and has kept it in use since; and whether a read of it was too old. */
  #fresh: TxId | undefined;
  #tooOld = false;
  #starting = false;
  #startRefusal: ErrorCode | undefined;
  #ended = false;

  constructor(
    owner: SimSession,
    readonly options: BeginOptions,
  ) {
    const { session } = owner;
    const { at } = options;
    this.io = owner.io;
    this.session = session;
    this.tx = at === undefined ? session.begin() : new SessionTransaction(session.nextTxId(), at, new Map());
    this.#at = at;
    this.#wireId = this.tx.id;
  }

  get id(): TxId {
    return this.tx.id;
  }

  get snapshot(): Snapshot | undefined {
    const { snapshot: ts, deps } = this.tx;
    return this.options.at ?? (ts === undefined ? undefined : { ts, deps });
  }

  *read(keys: readonly QualifiedKey[]): Co<readonly Seen[]> {
    const missing = keys.filter((key) => this.tx.lookup(key) === undefined);
    if (missing.length > 0) {
      const answer = yield* this.#exchange((ref, where) => ({ type: 'ReadReq', ref, keys: missing, ...where }));
      if (answer.type !== 'ReadResp') throw new RequestFailed('INTERNAL');
      missing.forEach((key, i) => {
        this.tx.record(key, answer.versions[i] ?? null);
      });
    }
    return keys.map((key) => ({ key, value: this.tx.lookup(key)!.value }));
  }

  *list(
    keyspace: string,
    start: QualifiedKey,
    limit: number,
  ): Co<{ seen: readonly Seen[]; next: QualifiedKey | null }> {
    // The first key behind a keyspace: keys begin with its name and a slash, and '0' follows the slash.
    const range = { start, end: `${keyspace}0`, limit };
    const answer = yield* this.#exchange((ref, where) => ({ type: 'ListReq', ref, keyspace, range, ...where }));
    if (answer.type !== 'ListResp') throw new RequestFailed('INTERNAL');
    const { entries, next } = answer;
    const merged = new Map<QualifiedKey, Value>(entries.map(({ key, version }) => [key, version.value!]));
    for (const [key, { value }] of this.tx.overlay()) {
      if (!key.startsWith(`${keyspace}/`) || compareKeys(key, start) < 0) continue;
      if (next !== null && compareKeys(key, next) >= 0) continue;
      if (value === null) merged.delete(key);
      else merged.set(key, value);
    }
    const seen = [...merged].map(([key, value]) => ({ key, value })).sort((a, b) => compareKeys(a.key, b.key));
    return { seen, next };
  }

  write(key: QualifiedKey, value: Value | null): void {
    this.tx.write(key, value);
  }

  commit(hooks: CommitHooks): Co<CommitResult> {
    this.#ended = true;
    return new Commit(this, hooks).run();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.options.at === undefined) this.session.end(this.tx);
    this.release();
  }

  /** Whether the server has this very transaction open on the connection. */
  isOpenOn(connection: Link): boolean {
    return this.#openOn === connection && this.#wireId === this.tx.id;
  }

  /** Gives back what the server holds. */
  release(): void {
    const connection = this.#openOn;
    this.#openOn = undefined;
    const txId = this.#wireId;
    if (connection?.open)
      connection.ask(
        (ref) => ({ type: 'EndTxReq', ref, txId }),
        () => {},
      );
  }

  /** A read with its repetitions, until it is answered, refused for good, or late. */
  *#exchange(request: (ref: number, where: Where) => TransactionMessage): Co<Answer> {
    const { io } = this;
    const deadlineMs = io.nowMs + io.requestTimeoutMs;
    let last: ErrorCode = 'CONNECTION_LOST';
    for (let refusals = 1; ; ) {
      const connection = yield* io.connection();
      if (io.nowMs >= deadlineMs) throw new RequestFailed(last);
      if (this.options.mode !== 'one-shot' && this.#openOn !== connection) this.#open(connection);
      const where = this.#where(connection);
      const answer = yield* io.call(connection, (ref) => request(ref, where), deadlineMs - io.nowMs);
      if (answer === undefined) continue;
      if (answer.type !== 'Refused') {
        if (this.#accept(answer as Answer)) return answer as Answer;
        last = 'SNAPSHOT_UNAVAILABLE';
      } else {
        const { code, retry } = this.#meaning(answer.code, where.txId);
        if (code === 'SNAPSHOT_TOO_OLD' && this.#mayHaveExpired(where.txId)) continue;
        if (!retry) throw new RequestFailed(code, code === 'SNAPSHOT_TOO_OLD' && this.#tooOld);
        last = code;
      }
      if (last === 'NOT_READY' || refusals % 3 === 0) io.leave(connection);
      yield* io.backOff(refusals++);
    }
  }

  /**
   * A snapshot in use is never collected, but its lease may have ended meanwhile. Asked again, the server says which it was: a transaction
   * that is refused in the same way twice was open in between.
   */
  #mayHaveExpired(txId: TxId | null): boolean {
    if (txId === null || txId !== this.#fresh || this.#tooOld) return false;
    this.#tooOld = true;
    return true;
  }

  #where(connection: Link): Where {
    const txId = this.options.mode !== 'one-shot' && this.#openOn === connection ? this.#wireId : null;
    return { txId, ...this.#asked() };
  }

  #asked(): Asked {
    const { ts: ust, deps } = this.session.seen;
    const at = this.#at;
    return at === undefined ? { ust, at: null, deps } : { ust: Math.min(at.ts, ust), at: at.ts, deps: at.deps };
  }

  /** Sends the start that precedes the read in the same message. */
  #open(connection: Link): void {
    if (this.#openOn !== undefined) this.#renew();
    this.#openOn = connection;
    this.#starting = true;
    this.#startRefusal = undefined;
    const txId = this.#wireId;
    this.#fresh = this.#at === undefined ? txId : undefined;
    this.#tooOld = false;
    connection.ask(
      (ref) => ({ type: 'StartTxReq', ref, txId, ...this.#asked() }),
      (answer) => {
        if (txId !== this.#wireId || this.#ended) return;
        if (answer?.type === 'StartTxResp') {
          this.#starting = false;
          this.#accept(answer);
        } else if (answer?.type === 'Refused') {
          this.#startRefusal = answer.code;
          this.#reopen();
        }
      },
    );
  }

  /** Takes the snapshot of an answer; false when it is not the one that the session needs. */
  #accept({ snapshot: ts, deps }: Pick<Answer, 'snapshot' | 'deps'>): boolean {
    if (ts < this.tx.floor) {
      // The node lags behind the session. Asked for exactly the session's snapshot, it waits for it or refuses.
      this.#at ??= this.tx.seen;
      this.#reopen();
      return false;
    }
    const snapshot = { ts, deps };
    if (!isSameSnapshot(snapshot, this.#at ?? snapshot)) {
      this.#reopen();
      return false;
    }
    this.#at = snapshot;
    if (this.tx.snapshot === undefined && !this.#ended) this.session.started(this.tx, ts, deps);
    return true;
  }

  /** What a refused read really means: the fate of the start that went with it, or that the server forgot the transaction. */
  #meaning(code: ErrorCode, sentAs: TxId | null): { code: ErrorCode; retry: boolean } {
    const expired = code === 'TRANSACTION_EXPIRED' && this.options.mode === 'snapshot';
    if (sentAs === null || !(code === 'TRANSACTION_UNKNOWN' || expired)) return { code, retry: isRetryable(code) };
    const refusal = this.#startRefusal;
    if (refusal !== undefined && !isRetryable(refusal)) return { code: refusal, retry: false };
    if (sentAs === this.#wireId && !this.#starting) this.#reopen();
    return { code: refusal ?? code, retry: true };
  }

  /** The next read opens it again. */
  #reopen(): void {
    if (this.#openOn !== undefined) this.#renew();
    this.#openOn = undefined;
    this.#starting = false;
  }

  #renew(): void {
    this.#wireId = this.session.nextTxId();
  }
}
