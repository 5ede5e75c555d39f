import type { CloseReport } from '@isochron/client/session/commit-queue';
import type { ClientStatus } from '@isochron/client/session/core';
import type { ExportedSession } from '@isochron/client/session/exported';
import type { TransactionStatus } from '@isochron/client/transaction-status';
import type { IsochronError } from '@isochron/core/errors';
import type { Timestamp, TxId } from '@isochron/core/ids';
import { checkOptions } from '../check-options.js';
import type { Driver } from '../driver.js';
import type { ChangesOptions } from './changed.js';
import { type Changes, changesOf } from './changes.js';
import { Keyspace, keyspaceOf, oneShot } from './collection.js';
import type { CallOptions } from './read-collection.js';
import { keyspaceScope } from './scope.js';
import { openSnapshot, type Snapshot, type SnapshotOptions } from './snapshot.js';
import { runTransaction, type Transaction, type TransactionOptions, type TransactionOutcome } from './transaction.js';
import { type CutResult, Watch, type Watches } from './watch.js';

/** Options of `close`. */
export interface CloseOptions {
  /** How long writes may still take, in ms. Default 5 000; 0 ends them at once. */
  readonly flushMs?: number;
}

/** A client's causal session: what it has seen and written. */
export class Session {
  readonly #driver: Driver;

  /** @internal */
  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /**
   * The newest token: opaque text for the `Isochron-Session` header or `connect({ token })`. It covers all answers.
   * While the client changes from one connection to another with requests under way, it may lag behind by a round trip;
   * `export()` never does.
   */
  get token(): string {
    return this.#driver.machine.core.currentToken() ?? '';
  }

  /** Greatest age of the session's next read, in ms, by the node's clock; undefined before the first stable time. */
  get stalenessMs(): number | undefined {
    return this.#driver.status.stalenessMs;
  }

  /**
   * The session as plain JSON: `connect({ session })` continues it, on any device and in any region, and sees
   * everything that this client had seen and written. It is the causal link between the two; both go on independently.
   * Commits that are still under way (`status.pendingCommits`) are not part of it.
   */
  export(): ExportedSession {
    return this.#driver.machine.core.export();
  }
}

/**
 * A connected client: one causal session. Its own methods use the keyspace given to `connect`.
 *
 * It fails over to other nodes and regions and reconnects by itself; requests wait meanwhile, up to `requestTimeoutMs`.
 */
export class IsochronClient extends Keyspace implements AsyncDisposable {
  readonly #driver: Driver;
  /** The causal session, to continue elsewhere. */
  readonly session: Session;

  /** @internal Made by `connect`. */
  constructor(driver: Driver) {
    super(oneShot(driver), keyspaceScope(driver.settings.keyspace));
    this.#driver = driver;
    this.session = new Session(driver);
  }

  /** The state of the client: one object until anything but its ages changes. Its ages grow with time. */
  get status(): ClientStatus {
    return this.#driver.status;
  }

  /**
   * Calls `listener` after every change of the status, once a turn at most. Returns a function that unsubscribes it. An
   * error of a listener is printed with `console.error`; the others are called all the same.
   */
  on(_event: 'status', listener: (status: ClientStatus) => void): () => void {
    return this.#driver.subscribe(listener);
  }

  /** Another keyspace in the same session. Throws KEYSPACE_UNKNOWN for a name that none can have. */
  keyspace(name: string): Keyspace {
    return keyspaceOf(this.#driver, keyspaceScope(name));
  }

  /**
   * Runs a function in a transaction, exactly once: there are no conflicts, so it never runs again. When it has
   * returned, its writes are committed, all or nothing; when it throws, the transaction is aborted and the same error
   * thrown. Writes with this client instead of `tx` are no part of it, and INVALID_REQUEST if the runtime can detect
   * them.
   *
   * Costs two round trips with reads (the start travels with the first read), one without. Rejects as reads and writes
   * do, with TRANSACTION_EXPIRED when the function took longer than the cluster allows, TRANSACTION_ABORTED when the
   * commit was aborted, and OUTCOME_UNKNOWN ({@link OutcomeUnknownError}).
   */
  transaction<R>(
    run: (tx: Transaction) => R | Promise<R>,
    options: TransactionOptions = {},
  ): Promise<TransactionOutcome<R>> {
    return runTransaction(this.#driver, this.scope, run, options);
  }

  /** A snapshot for many reads: the session's newest snapshot, or exactly the snapshot `at` a timestamp. */
  snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    return openSnapshot(this.#driver, this.scope, options);
  }

  /**
   * Several watches of this client as one, whose result has all of theirs at one snapshot, by their names. With a
   * function it is called with every result, as `subscribe` does, and a function that ends this is returned.
   */
  live<W extends Watches>(watches: W): Watch<CutResult<W>>;
  live<W extends Watches>(
    watches: W,
    listener: (cut: CutResult<W>) => void,
    failed?: (error: IsochronError) => void,
  ): () => void;
  live<W extends Watches>(
    watches: W,
    listener?: (cut: CutResult<W>) => void,
    failed?: (error: IsochronError) => void,
  ): Watch<CutResult<W>> | (() => void) {
    const watch = new Watch<CutResult<W>>(this.#driver, { kind: 'cut', watches });
    return listener === undefined ? watch : watch.subscribe(listener, failed);
  }

  /**
   * The change feed: every committed transaction once, in one order that is the same in all regions. See
   * {@link Changes}. Throws INVALID_REQUEST for unknown options.
   */
  changes(options: ChangesOptions = {}): Changes {
    return changesOf(this.#driver, options);
  }

  /**
   * The outcome of a transaction: of this client or any other, also after a restart. Ask with its id, or better with an
   * {@link OutcomeUnknownError} or its stored fields: `sentAfter` separates *forgotten* from *unknown*. Any snapshot's
   * timestamp from before the commit will do as `sentAfter`.
   *
   * A query changes nothing. Rejects with INVALID_REQUEST for an invalid id; with OFFLINE, CLIENT_CLOSED, the signal's
   * reason.
   */
  async transactionStatus(
    transaction: TxId | { readonly txId: TxId; readonly sentAfter?: Timestamp },
    options: CallOptions = {},
  ): Promise<TransactionStatus> {
    checkOptions(options, 'signal');
    const { txId, sentAfter } =
      typeof transaction === 'string' ? { txId: transaction, sentAfter: undefined } : transaction;
    checkOptions({ sentAfter }, 'sentAfter');
    return this.#driver.call({ f: 'status', txId, sentAfter }, options.signal);
  }

  /**
   * Gives up the order behind a commit with an unknown outcome, so that later writes do not wait for it. The client
   * goes on in a new session, which has seen everything that the old session has seen and written, but does not follow
   * that commit: the commit may still become visible later, or never, and a later write of the same key by this client
   * may be ordered before it or after it. Reads do not show it until it is decided.
   *
   * The client goes on asking for its outcome in the background: its own promise settles as before, and
   * `status.pendingCommits` counts it. Returns the id of its transaction; undefined if the session has no undecided
   * commit, and then nothing has changed.
   */
  detach(): TxId | undefined {
    return this.#driver.detach();
  }

  /**
   * The network may have changed, or the program was suspended: the client tests its connection, and gives a silent one
   * up within a second; without a connection it tries its endpoints at once. In a browser the client learns of both by
   * itself. Call it where the platform reports them in its own way, such as `AppState` of React Native.
   */
  networkChanged(): void {
    this.#driver.networkChanged();
  }

  /**
   * Ends reads and watches, which reject with CLIENT_CLOSED, and takes no further calls. Writes that were called before
   * go on for at most `flushMs`. Then those that have had no effect reject with CLIENT_CLOSED, and those that were sent
   * and not answered with OUTCOME_UNKNOWN. Resolves with a report of both once the socket is closed, a second later at
   * the latest. May be called again, also to end the writes earlier. Throws INVALID_REQUEST for options that are none.
   */
  async close(options: CloseOptions = {}): Promise<CloseReport> {
    checkOptions(options, 'flushMs');
    const { flushMs = 5000 } = options;
    return this.#driver.call({ f: 'close', flushMs });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
