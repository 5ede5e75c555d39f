import type { Committed } from '@isochron/client/session/outcome';
import { IsochronError } from '@isochron/core/errors';
import type { Timestamp, TxId, Value } from '@isochron/core/ids';
import { checkOptions } from '../check-options.js';
import { applyMergePatch, checkCount, encodeDocument, type MergePatch } from '../documents.js';
import type { Driver, Handle } from '../driver.js';
import { throwIfAborted } from '../signals.js';
import { isOperations, type Operation, updateOf } from '../updates.js';
import { type CallOptions, ReadCollection } from './read-collection.js';
import { WriteReceipt } from './receipt.js';
import { collectionScope, type HandleSource, type KeyScope, keyIn, keyspaceScope } from './scope.js';

/** Options of a transaction. */
export interface TransactionOptions {
  /** Reads exactly this snapshot, without the session's own later writes. */
  readonly at?: Timestamp;
  /** Aborts reads and, before it is sent, the commit. */
  readonly signal?: AbortSignal;
  /**
   * Name of the transaction, to repeat it safely, see {@link WriteOptions.id}: if one of this id has committed, its
   * result is returned, and the function does not run.
   */
  readonly id?: string;
}

/** The result of a transaction. */
export interface TransactionOutcome<R> {
  /** The function's return value. */
  readonly result: R;
  /** The commit; undefined if there were no writes. */
  readonly write: WriteReceipt | undefined;
}

/** The shared state of one transaction's views. */
export class TransactionState implements HandleSource {
  readonly driver: Driver;
  readonly begun: Handle;
  readonly signal: AbortSignal | undefined;
  /** Reads and writes are refused from now on. */
  isFinished = false;
  /** Updates that the function may not have awaited. */
  readonly updates = new Set<Promise<void>>();

  constructor(driver: Driver, { at, signal }: TransactionOptions) {
    this.driver = driver;
    this.begun = driver.begin('transaction', at);
    this.signal = signal;
  }

  handle(): Handle {
    if (this.isFinished) throw new IsochronError('TRANSACTION_FINISHED', 'the transaction has ended');
    throwIfAborted(this.signal);
    return this.begun;
  }
}

/** Documents under one prefix, inside a transaction. Reads see its own writes. */
export class TransactionCollection<T = unknown> extends ReadCollection<T> {
  /** @internal */
  protected readonly state: TransactionState;

  /** @internal */
  constructor(state: TransactionState, scope: KeyScope) {
    super(state, scope);
    this.state = state;
  }

  override get<U extends T = T>(key: string, options?: CallOptions): Promise<U | undefined> {
    return super.get<U>(key, this.#signalled(options));
  }

  override getMany<U extends T = T>(keys: readonly string[], options?: CallOptions): Promise<(U | undefined)[]> {
    return super.getMany<U>(keys, this.#signalled(options));
  }

  /**
   * Writes a document when the transaction commits. It is copied at once. Throws KEY_INVALID, VALUE_INVALID,
   * VALUE_TOO_LARGE, TRANSACTION_FINISHED. More writes than the cluster accepts end the transaction with TOO_MANY_KEYS.
   */
  set(key: string, document: T): void {
    this.#write(key, (driver) => encodeDocument(document, driver.limits));
  }

  /** Deletes a key when the transaction commits. */
  delete(key: string): void {
    this.#write(key, () => null);
  }

  /**
   * Changes a document when the transaction commits, by a JSON merge patch or by operations, see
   * {@link Collection.update}. Several updates of a key apply in their order. The commit waits for it, awaited or not;
   * when it fails, so does the transaction.
   */
  update(key: string, change: MergePatch<T> | Operation | readonly Operation[], options?: CallOptions): Promise<void> {
    const update = this.#update(key, change, options);
    const { updates } = this.state;
    updates.add(update);
    const remove = () => updates.delete(update);
    // A failed one stays: the commit must not happen, whether the function awaited it or not.
    update.then(remove, () => undefined);
    return update;
  }

  /** Where the protocol has updates it takes effect before this returns. */
  async #update(key: string, change: unknown, options?: CallOptions): Promise<void> {
    checkOptions(options, 'signal');
    const { driver } = this.state;
    const qualified = keyIn(this.scope, key, driver);
    const { id, tx } = this.state.handle();
    if (isOperations(change)) driver.machine.core.requireUpdates();
    if (driver.hasUpdates) {
      tx.write(qualified, updateOf(change, driver.limits));
      return;
    }
    const read = { f: 'read', handle: id, keys: [qualified] } as const;
    const [current] = await driver.call<readonly (Value | null)[]>(read, this.#signalled(options).signal);
    const written = applyMergePatch(current ?? null, change, driver.limits);
    tx.write(qualified, written);
  }

  #write(key: string, value: (driver: Driver) => ReturnType<typeof encodeDocument> | null): void {
    const { driver } = this.state;
    const qualified = keyIn(this.scope, key, driver);
    const written = value(driver);
    this.state.handle().tx.write(qualified, written);
  }

  #signalled(options: CallOptions | undefined): CallOptions {
    const { signal } = this.state;
    return { ...options, signal: options?.signal ?? signal };
  }
}

/**
 * A transaction: reads one snapshot, writes at its end all or nothing. It never waits for others and never fails
 * because of them; of two that write the same key, the later commit wins.
 */
export class Transaction extends TransactionCollection<unknown> {
  /** The id of the transaction. */
  get id(): TxId {
    return this.state.begun.tx.id;
  }

  /** The timestamp of the snapshot; undefined before the first read has been answered. */
  get timestamp(): Timestamp | undefined {
    return this.state.begun.tx.snapshot;
  }

  /** Age of its snapshot in ms, by the node's clock; undefined before the first read has been answered. */
  get stalenessMs(): number | undefined {
    return this.timestamp === undefined ? undefined : this.source.driver.ageMs(this.timestamp);
  }

  /** The same transaction in another keyspace. Throws KEYSPACE_UNKNOWN for a name that none can have. */
  keyspace(name: string): Transaction {
    return new Transaction(this.state, keyspaceScope(name));
  }

  /** The same transaction on the documents under `name/<id>`. */
  collection<T = unknown>(name: string): TransactionCollection<T> {
    return new TransactionCollection<T>(this.state, collectionScope(this.scope, name));
  }
}

/** Runs a function once in a transaction, and commits its writes. */
export async function runTransaction<R>(
  driver: Driver,
  scope: KeyScope,
  run: (tx: Transaction) => R | Promise<R>,
  options: TransactionOptions,
): Promise<TransactionOutcome<R>> {
  checkOptions(options, 'at', 'signal', 'id');
  let result: R;
  const outcome = (commit?: Committed): TransactionOutcome<R> => ({
    result,
    write: commit && new WriteReceipt(driver, commit),
  });
  const write = async (): Promise<TransactionOutcome<R>> => {
    const state = new TransactionState(driver, options);
    const { begun: handle } = state;
    try {
      result = await driver.inside.run(state, () => run(new Transaction(state, scope)));
      if (state.updates.size > 0) await Promise.all(state.updates);
      throwIfAborted(options.signal);
      checkCount(handle.tx.writes.length, driver.limits);
    } catch (error) {
      driver.end(handle);
      throw error;
    } finally {
      state.isFinished = true;
    }
    if (handle.tx.hasWrites) return outcome(await driver.call({ f: 'commit', handle: handle.id }, options.signal));
    driver.end(handle);
    return outcome();
  };
  return driver.named.run(options.id, write, outcome);
}
