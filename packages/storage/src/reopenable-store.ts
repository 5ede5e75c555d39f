import type {
  Belongs,
  ChangesPage,
  CopyPage,
  DurableRecord,
  ListPage,
  ListRange,
  LogPage,
  OutcomeRecord,
  PartitionId,
  QualifiedKey,
  ReadNeeds,
  RecoveredState,
  Timestamp,
  TxId,
  Version,
} from '@isochron/core';
import { type LevelStoreOptions, openLevelStore } from './level-store.js';
import type { VersionStore, VersionStoreStats } from './store.js';

/**
 * A store on LevelDB that can go on after its disk was full. After a failed write LevelDB writes no more until its
 * files are opened and read anew, as they may end in the middle of a record.
 */
export class ReopenableStore implements VersionStore {
  #store: VersionStore;
  #reopening: Promise<void> | undefined;
  #isClosed = false;

  private constructor(
    store: VersionStore,
    readonly options: LevelStoreOptions,
  ) {
    this.#store = store;
  }

  /** As {@link openLevelStore}. */
  static async open(options: LevelStoreOptions): Promise<ReopenableStore> {
    return new ReopenableStore(await openLevelStore(options), options);
  }

  /**
   * Closes the disk and opens it again with the data on it. Refused commits are not there, and their callers may repeat
   * them, even those that a failing disk has taken after all. Nothing may be read or committed meanwhile, and
   * afterwards all data must be prefetched anew.
   * @throws IsochronError as {@link openLevelStore}; the store is closed then
   */
  reopen(): Promise<void> {
    this.#reopening = this.#reopen();
    return this.#reopening;
  }

  /** A store that is closed meanwhile stays closed. */
  async #reopen(): Promise<void> {
    await this.#store.close();
    if (!this.#isClosed) this.#store = await openLevelStore(this.options);
  }

  read(partition: PartitionId, key: QualifiedKey, snapshot: Timestamp): Version | undefined {
    return this.#store.read(partition, key, snapshot);
  }

  find(partition: PartitionId, key: QualifiedKey, belongs: Belongs): Version | undefined {
    return this.#store.find(partition, key, belongs);
  }

  list(partition: PartitionId, range: ListRange, snapshot: Timestamp | Belongs): ListPage {
    return this.#store.list(partition, range, snapshot);
  }

  log(partition: PartitionId, after: Timestamp, upTo: Timestamp): LogPage {
    return this.#store.log(partition, after, upTo);
  }

  changes(partition: PartitionId, after: Timestamp, upTo: Timestamp): ChangesPage {
    return this.#store.changes(partition, after, upTo);
  }

  copy(partition: PartitionId, start: QualifiedKey): CopyPage {
    return this.#store.copy(partition, start);
  }

  outcome(partition: PartitionId, txId: TxId): OutcomeRecord | undefined {
    return this.#store.outcome(partition, txId);
  }

  commit(records: readonly DurableRecord[]): Promise<void> {
    return this.#store.commit(records);
  }

  resident(needs: ReadNeeds): boolean {
    return this.#store.resident(needs);
  }

  prefetch(needs: ReadNeeds): Promise<void> {
    return this.#store.prefetch(needs);
  }

  recover(): Promise<RecoveredState> {
    return this.#store.recover();
  }

  stats(): VersionStoreStats {
    return this.#store.stats();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    // The caller of that reopening gets its error.
    await this.#reopening?.catch(() => undefined);
    await this.#store.close();
  }
}
