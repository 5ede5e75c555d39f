import type { ClientStatus } from '@isochron/client/session/core';
import type { ExportedSession } from '@isochron/client/session/exported';
import type { TransactionStatus } from '@isochron/client/transaction-status';
import type { Timestamp, TxId } from '@isochron/core/ids';
import { checkOptions } from '../documents.js';
import type { Driver } from '../driver.js';
import { Keyspace, keyspaceOf, oneShot } from './collection.js';
import type { CallOptions } from './read-collection.js';
import { keyspaceScope } from './scope.js';
import { openSnapshot, type Snapshot, type SnapshotOptions } from './snapshot.js';
import { runTransaction, type Transaction, type TransactionOptions, type TransactionOutcome } from './transaction.js';

/** The causal session that a client holds: what it has seen and written. */
export class Session {
  readonly #driver: Driver;

  /** @internal */
  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /**
   * The newest token: opaque text for the `Isochron-Session` header or `connect({ token })`. It has what was answered.
   * While the client changes from one connection to another with requests under way, it may lag behind by a round trip;
   * `export()` never does.
   */
  get token(): string {
    return this.#driver.machine.core.currentToken() ?? '';
  }

  /**
   * Age of what the session's next read shows at least, in ms, by the node's clock; undefined before anything was
   * stable.
   */
  get stalenessMs(): number | undefined {
    return this.#driver.status.stalenessMs;
  }

  /**
   * The session as plain JSON: `connect({ session })` continues it, on any device and in any region, and sees everything that
   * this one had seen and written. It is the causal link between the two; both go on independently. Commits that are
   * still under way (`status.pendingCommits`) are not part of it.
   */
  export(): ExportedSession {
    return this.#driver.machine.core.export();
  }
}

/**
 * A connected client: one causal session. Its own methods work on the keyspace that `connect` was given.
 *
 * It fails over to other nodes and regions and reconnects by itself; requests wait meanwhile, up to `requestTimeoutMs`.
 */
export class IsochronClient extends Keyspace implements AsyncDisposable {
  readonly #driver: Driver;
  /** The causal session, to hand on. */
  readonly session: Session;

  /** @internal Made by `connect`. */
  constructor(driver: Driver) {
    super(oneShot(driver), keyspaceScope(driver.settings.keyspace));
    this.#driver = driver;
    this.session = new Session(driver);
  }

  /** How the client is doing: one object until anything but its ages changes. Its ages count on. */
  get status(): ClientStatus {
    return this.#driver.status;
  }

  /**
   * Calls `listener` after every change of the status, once a turn at most. Returns what unsubscribes it. What a
   * listener throws is printed with `console.error`; the others are called all the same.
   */
  on(_event: 'status', listener: (status: ClientStatus) => void): () => void {
    return this.#driver.subscribe(listener);
  }

  /** Another keyspace in the same session. Throws KEYSPACE_UNKNOWN for a name that none can have. */
  keyspace(name: string): Keyspace {
    return keyspaceOf(this.#driver, keyspaceScope(name));
  }

  /**
   * Runs a function in a transaction, exactly once: there are no conflicts, so nothing is ever run again. When it has returned,
   * what it wrote is committed, all or nothing; when it throws, the transaction is aborted and the same error thrown.
   * What it writes with this client instead of `tx` is no part of it, and INVALID_REQUEST where the runtime allows to
   * notice it.
   *
   * Costs two round trips with reads (the start travels with the first read), one without. Rejects as reads and writes do,
   * with TRANSACTION_EXPIRED when the function took longer than the cluster allows, TRANSACTION_ABORTED when the commit was
   * aborted, and OUTCOME_UNKNOWN ({@link OutcomeUnknownError}).
   */
  transaction<R>(
    run: (tx: Transaction) => R | Promise<R>,
    options: TransactionOptions = {},
  ): Promise<TransactionOutcome<R>> {
    return runTransaction(this.#driver, this.scope, run, options);
  }

  /** A snapshot for many reads: the session's newest, or exactly the one `at` a timestamp. */
  snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    return openSnapshot(this.#driver, this.scope, options);
  }

  /**
   * What became of a transaction: of this client or any other, also after a restart. Ask with its id, or better with an
   * {@link OutcomeUnknownError} or what was kept of one: with `sentAfter`, *forgotten* is told from *unknown*. Any snapshot's timestamp from before
   * the commit will do for it.
   *
   * A question changes nothing. Rejects with INVALID_REQUEST for what is no id; with OFFLINE, CLIENT_CLOSED, the
   * signal's reason.
   */
  async transactionStatus(
    transaction: TxId | { readonly txId: TxId; readonly sentAfter?: Timestamp },
    options: CallOptions = {},
  ): Promise<TransactionStatus> {
    checkOptions(options, 'signal');
    const { txId, sentAfter } =
      typeof transaction === 'string' ? { txId: transaction, sentAfter: undefined } : transaction;
    return this.#driver.call({ f: 'status', txId, sentAfter }, options.signal);
  }

  /**
   * Gives up the order behind a commit whose outcome is not known, so that later writes do not wait for it. The client
   * goes on in a new session, which has seen everything that the old one has seen and written, but does not follow that
   * commit: it may still become visible later, or never, and a later write of the same key by this client may be
   * ordered before it or after it. Reads do not show it until it is decided.
   *
   * The client goes on asking for its outcome in the background: its own promise settles as before, and
   * `status.pendingCommits` counts it. Returns the id of its transaction; undefined where no commit of the session is
   * in doubt, and then nothing has changed.
   */
  detach(): TxId | undefined {
    return this.#driver.detach();
  }

  /**
   * Closes the connection. What is pending rejects with CLIENT_CLOSED; commits that were sent and not answered reject with
   * OUTCOME_UNKNOWN. Resolves once the socket is closed, after a second at the latest. May be called twice.
   */
  close(): Promise<void> {
    return this.#driver.call({ f: 'close' });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
