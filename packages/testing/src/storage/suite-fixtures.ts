/// <reference types="jest" />
/** The shared part of a store's acceptance tests: sample records and a fresh store for each test. */
import type {
  Belongs,
  ChangesPage,
  CopyPage,
  Deps,
  DurableRecord,
  ListPage,
  ListRange,
  LogPage,
  OutcomeRecord,
  PreparedRecord,
  StoredVersion,
  Timestamp,
} from '@isochron/core';
import type { VersionStore } from '@isochron/storage/store';

/** A store under test with its environment. */
export interface StoreHarness {
  readonly store: VersionStore;
  /** Closes the store and opens it again on the same data. */
  reopen(): Promise<VersionStore>;
  /** Closes the store and removes its data. */
  destroy(): Promise<void>;
}

/** Makes an empty store. */
export type StoreFactory = () => Promise<StoreHarness>;

export const P = 3;
export const FOREVER = 2 ** 50;

export const v = (
  ts: Timestamp,
  value: StoredVersion['value'] = `"${ts}"`,
  txId = `tx${ts}`,
  region = 'virginia',
): StoredVersion => ({
  ts,
  txId,
  region,
  value,
});
/** A version with dependencies. */
export const dependent = (ts: Timestamp, deps: Deps, value?: StoredVersion['value']): StoredVersion => ({
  ...v(ts, value),
  deps,
});
export const put = (key: string, version: StoredVersion, partition = P): DurableRecord => ({
  kind: 'version',
  partition,
  key,
  version,
});
/** Removes the version that `v(ts)` adds. */
export const remove = (key: string, ts: Timestamp, txId = `tx${ts}`, partition = P): DurableRecord => ({
  kind: 'remove',
  partition,
  key,
  ts,
  txId,
});
/** The key that logged transactions of tests write, if they have a value. */
export const LOGGED_KEY = '~logged';
const writesOf = (value: string | undefined) => (value === undefined ? [] : [{ key: LOGGED_KEY, value }]);
/** An own transaction. */
export const logged = (ct: Timestamp, txId = `tx${ct}`, value?: string, partition = P): DurableRecord => ({
  kind: 'applied',
  partition,
  ct,
  tx: { txId, writes: writesOf(value) },
  region: 'virginia',
  log: 'own',
});
/** A transaction of another region. */
export const received = (ct: Timestamp, txId = `tx${ct}`, value?: string, source = 'oregon'): DurableRecord => ({
  kind: 'applied',
  partition: P,
  ct,
  tx: { txId, writes: writesOf(value) },
  region: source,
  log: 'received',
});
export const collect = (floor: Timestamp, partition = P): DurableRecord => ({
  kind: 'horizon',
  partition,
  horizon: 'gcFloor',
  upTo: floor,
});
export const outcomeAt = (ts: Timestamp): OutcomeRecord => ({ status: 'committed', ts, attempt: 0, digest: 'd' });
export const ended = (txId: string, record: OutcomeRecord, partition = P): DurableRecord => ({
  kind: 'outcome',
  partition,
  txId,
  record,
});
export const prepared: PreparedRecord = {
  pt: 77,
  home: 'oregon',
  attempt: 1,
  sentAfter: 5,
  map: 2,
  cohorts: [1, P],
  digest: 'digest',
  coordinator: 'oregon-1',
  writes: [
    { key: 'a', value: '{"a":1}' },
    { key: 'b', value: null },
  ],
};

/** The end of a transaction that is prepared as `prepared`. */
export const applied = (txId: string, ct: Timestamp): DurableRecord => ({
  kind: 'applied',
  partition: P,
  ct,
  tx: { txId, writes: prepared.writes },
  region: 'virginia',
  log: 'own',
  outcome: { attempt: prepared.attempt, digest: prepared.digest },
  prepared: true,
});

export const range = (start = '', end: string | null = null, limit = 100): ListRange => ({ start, end, limit });
export const txIds = (page: LogPage): string[] => page.groups.flatMap(({ txs }) => txs.map(({ txId }) => txId));
export const keysOf = (page: ListPage): string[] => page.entries.map(({ key }) => key);

/** One test's store, fresh for each. */
export interface StoreCase {
  harness: StoreHarness;
  store: VersionStore;
  reopen(): Promise<void>;
  /** Prefetches a page of a listing and takes it. */
  list(asked: ListRange, snapshot?: Timestamp | Belongs, partition?: number): Promise<ListPage>;
  /** Prefetches a page of the log and takes it. */
  log(after: Timestamp, upTo: Timestamp, partition?: number): Promise<LogPage>;
  /** Prefetches a page of the log with the transactions of all regions, and takes it. */
  changes(after: Timestamp, upTo: Timestamp, partition?: number): Promise<ChangesPage>;
  /** Prefetches a page of a copy and takes it. */
  copy(start: string, partition?: number): Promise<CopyPage>;
}

/** Registers a fresh store before each test of the enclosing block. */
export function eachWithStore(factory: StoreFactory): StoreCase {
  const on = {
    async reopen() {
      on.store = await on.harness.reopen();
    },
    async list(asked, snapshot = FOREVER, partition = P) {
      const needed = typeof snapshot === 'number' ? snapshot : 'any';
      await on.store.prefetch({ kind: 'list', partition, range: asked, snapshot: needed });
      return on.store.list(partition, asked, snapshot);
    },
    async log(after, upTo, partition = P) {
      await on.store.prefetch({ kind: 'log', partition, after, upTo });
      return on.store.log(partition, after, upTo);
    },
    async changes(after, upTo, partition = P) {
      await on.store.prefetch({ kind: 'changes', partition, after, upTo });
      return on.store.changes(partition, after, upTo);
    },
    async copy(start, partition = P) {
      await on.store.prefetch({ kind: 'copy', partition, start });
      return on.store.copy(partition, start);
    },
  } as StoreCase;
  beforeEach(async () => {
    on.harness = await factory();
    on.store = on.harness.store;
  });
  afterEach(() => on.harness.destroy());
  return on;
}
