/// <reference types="jest" />
/** A model store that is so simple that it is plainly right, and random programs that compare another store with it. */
import {
  type AppliedRecord,
  type Belongs,
  compareKeys,
  compareVersions,
  type DurableFact,
  type DurableRecord,
  Fold,
  factsOf,
  HORIZONS,
  type Operation,
  type OutcomeRecord,
  type StoredVersion,
  type Timestamp,
  Update,
  type Version,
} from '@isochron/core';
import { newHorizons } from '@isochron/storage/horizons';
import type { VersionStore } from '@isochron/storage/store';
import fc from 'fast-check';
import type { StoreHarness } from './suite-fixtures.js';

/** Keeps every version for ever, and computes which results may differ after a collection. */
class Model {
  readonly #versions = new Map<string, StoredVersion[]>();
  readonly #outcomes = new Map<string, OutcomeRecord>();
  readonly #log = new Map<string, { readonly ct: Timestamp; readonly writes: number; readonly own: boolean }>();
  readonly horizons = newHorizons();

  apply(record: DurableFact): void {
    switch (record.kind) {
      case 'version': {
        const chain = this.#versions.get(record.key) ?? [];
        this.#versions.set(record.key, chain);
        if (!chain.some((known) => compareVersions(known, record.version) === 0)) chain.push(record.version);
        break;
      }
      case 'remove': {
        const chain = this.#versions.get(record.key) ?? [];
        this.#versions.set(
          record.key,
          chain.filter(({ ts, txId }) => ts !== record.ts || txId !== record.txId),
        );
        break;
      }
      case 'outcome':
        this.#outcomes.set(record.txId, record.record);
        break;
      case 'log':
        this.#log.set(record.tx.txId, {
          ct: record.ct,
          writes: record.tx.writes.length,
          own: record.source === undefined,
        });
        break;
      case 'horizon':
        this.horizons[record.horizon] = Math.max(this.horizons[record.horizon], record.upTo);
        break;
      case 'prepared':
      case 'meta':
        break;
    }
  }

  read(key: string, snapshot: Timestamp): Version | undefined {
    return this.find(key, ({ ts }) => ts <= snapshot);
  }

  find(key: string, belongs: Belongs): Version | undefined {
    const versions = (this.#versions.get(key) ?? []).filter(belongs).sort(compareVersions);
    const newest = versions.at(-1);
    if (newest === undefined) return undefined;
    let fold = new Fold(null);
    /** Of all versions since there was no document. */
    let times: Timestamp[] = [];
    for (const { ts, txId, value, at = ts } of versions) {
      if (fold.result() === null) times = [];
      if (value instanceof Update) fold.apply(value, { ts, txId });
      else if (times.every((time) => time <= at)) fold = new Fold(value, { ts, txId });
      times.push(at);
    }
    const at = Math.max(...times);
    return { ...newest, value: fold.result(), at: at === newest.ts ? undefined : at };
  }

  /** Whether the document of a key is a fold of several versions. */
  isFolded(key: string): boolean {
    return this.#versions.get(key)?.some(({ value, at }) => value instanceof Update || at !== undefined) ?? false;
  }

  /**
   * Whether a collection may have dropped a version: it keeps the newest one at or below the floor, unless that one
   * deletes.
   */
  mayBeGone(key: string, version: StoredVersion): boolean {
    const { gcFloor } = this.horizons;
    return version.ts <= gcFloor && (version.value === null || version.ts !== this.read(key, gcFloor)?.ts);
  }

  list(snapshot: Timestamp): string[] {
    const keys = [...this.#versions.keys()].filter((key) => (this.read(key, snapshot)?.value ?? null) !== null);
    return keys.sort(compareKeys);
  }

  outcome(txId: string): OutcomeRecord | undefined {
    const record = this.#outcomes.get(txId);
    return record === undefined || record.ts < this.horizons.forgottenUpTo ? undefined : record;
  }

  /** Versions of all keys, and keys that have one, while nothing was collected. */
  get size(): { keys: number; versions: number } {
    const sizes = [...this.#versions.values()].map(({ length }) => length);
    return { keys: sizes.filter((length) => length > 0).length, versions: sizes.reduce((sum, n) => sum + n, 0) };
  }

  /** Transactions and how many writes each has. */
  log(after: Timestamp, upTo: Timestamp): [string, number][] {
    return this.#entries(Math.max(after, this.horizons.logConfirmedUpTo), upTo, ({ own }) => own);
  }

  /** The same of all regions. */
  changes(after: Timestamp, upTo: Timestamp): [string, number][] {
    return this.#entries(after, upTo, () => true);
  }

  #entries(after: Timestamp, upTo: Timestamp, belongs: (entry: { own: boolean }) => boolean): [string, number][] {
    const from = Math.max(after, this.horizons.logTruncatedUpTo);
    const found = [...this.#log].filter(([, entry]) => belongs(entry) && entry.ct > from && entry.ct <= upTo);
    const sorted = found.sort(([a, x], [b, y]) => x.ct - y.ct || (a < b ? -1 : 1));
    return sorted.map(([txId, { writes }]) => [txId, writes]);
  }
}

const KEYS = ['a', 'a/', 'b', 'é', '￿', '😀'];
const MAX_TS = 400;
const FOREVER = Number.POSITIVE_INFINITY;
const partition = 0;

/** Their results depend on the order. */
const UPDATES: readonly Operation[] = [
  { op: 'append', path: '/list', items: ['x'] },
  { op: 'increment', path: '/n', by: 3 },
  { op: 'set', path: '/list', value: [] },
  { op: 'serverTimestamp', path: '/at' },
  { op: 'init', value: { n: 100 } },
  { op: 'remove', path: '' },
];

const ts = fc.integer({ min: 1, max: MAX_TS });
const key = fc.constantFrom(...KEYS);
const value = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 2, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 9 }).map((n) => `${n}`.repeat(1500)) },
);

/**
 * No entry, one or two. The same timestamp and transaction always have the same, as in reality: a version may come
 * twice.
 */
function depsOf(ts: Timestamp, tx: string): { deps?: Timestamp[] } {
  const entry = (ts * 7919 + tx.charCodeAt(0)) % MAX_TS;
  if (entry % 3 === 0) return {};
  return { deps: entry % 3 === 1 ? [entry] : [entry, MAX_TS - ts] };
}

/** Every third version is an update: the identity decides, as a version may come twice. */
function contentOf(ts: Timestamp, put: string | null, operation: Operation): StoredVersion['value'] {
  return (ts * 31) % 3 === 0 ? new Update(JSON.stringify([operation])) : put;
}

/** Every fourth version is late: judged by an earlier time. */
const lateOf = (ts: Timestamp): { at?: Timestamp } =>
  (ts * 29) % 4 === 0 ? { at: Math.max(1, ts - 1 - (ts % 90)) } : {};

/** A version's value depends on its identity alone, as in reality. */
const version = fc
  .record({
    ts,
    key,
    value,
    operation: fc.constantFrom(...UPDATES),
    tx: fc.constantFrom('x', 'y'),
    region: fc.constantFrom('p', 'q'),
  })
  .map(({ ts, key, value, operation, tx, region }) => ({
    key,
    version: {
      ts,
      txId: `${tx}${ts}`,
      region,
      value: contentOf(ts, value, operation),
      ...depsOf(ts, tx),
      ...lateOf(ts),
    },
  }));

/** What a transaction writes depends on its identity alone, but for an entry that replaces one and writes nothing. */
function appliedAt(ct: Timestamp, count: number): AppliedRecord {
  const writes = KEYS.slice(0, Math.min(count, ct % 3)).map((key) => ({ key, value: contentOf(ct, '1', UPDATES[0]!) }));
  const [region, log] = ct % 3 === 0 ? (['q', 'received'] as const) : (['p', 'own'] as const);
  const tx = { txId: `t${ct}`, writes, ...depsOf(ct, 't'), ...lateOf(ct) };
  const outcome = ct % 5 === 0 ? { attempt: 0, digest: null } : undefined;
  return { kind: 'applied', partition, ct, tx, region, log, outcome };
}

/** A prepare, and its end in the same batch or never. */
const prepare = fc.record({ at: ts, ends: fc.boolean() }).map(({ at, ends }): DurableRecord[] => {
  const ct = at % 3 === 0 ? at + 1 : at;
  const end = { ...appliedAt(ct, 2), log: 'own' as const, outcome: { attempt: 1, digest: `d${ct}` }, prepared: true };
  const { txId, writes, deps } = end.tx;
  const record = { ...PREPARED, pt: ct, writes, deps, digest: end.outcome.digest };
  const prepared: DurableRecord = { kind: 'prepared', partition, txId, record };
  return ends ? [prepared, end] : [prepared];
});

const PREPARED = { home: 'p', attempt: 1, sentAfter: 0, map: 0, cohorts: [0, 1], coordinator: 'p-1' };

const record: fc.Arbitrary<DurableRecord> = fc.oneof(
  { weight: 20, arbitrary: version.map((v) => ({ kind: 'version' as const, partition, ...v })) },
  {
    weight: 6,
    arbitrary: version.map((v) => ({
      kind: 'remove' as const,
      partition,
      key: v.key,
      ts: v.version.ts,
      txId: v.version.txId,
    })),
  },
  {
    weight: 2,
    arbitrary: ts.map((at) => ({
      kind: 'outcome' as const,
      partition,
      txId: `t${at % 50}`,
      record: { status: 'committed' as const, ts: at, attempt: 0, digest: null },
    })),
  },
  {
    weight: 3,
    arbitrary: fc.record({ ct: ts, count: fc.nat({ max: 2 }) }).map(({ ct, count }) => appliedAt(ct, count)),
  },
  {
    weight: 1,
    arbitrary: ts.map((upTo) => ({ kind: 'meta' as const, name: 'ust', value: upTo })),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({ horizon: fc.constantFrom(...HORIZONS), at: ts })
      .map(({ horizon, at }) => ({ kind: 'horizon' as const, partition, horizon, upTo: Math.floor(at / 2) })),
  },
);

type Command =
  | { readonly do: 'commit'; readonly records: readonly DurableRecord[]; readonly wait: boolean }
  | { readonly do: 'reopen' }
  | { readonly do: 'check'; readonly at: Timestamp; readonly depsAt: Timestamp };

/** Random programs. */
export const storeCommands: fc.Arbitrary<readonly Command[]> = fc.array(
  fc.oneof(
    {
      weight: 10,
      arbitrary: fc.record({
        do: fc.constant('commit' as const),
        records: fc
          .array(fc.oneof({ weight: 20, arbitrary: record.map((one) => [one]) }, { weight: 1, arbitrary: prepare }), {
            maxLength: 40,
            size: 'max',
          })
          .map((all) => all.flat()),
        wait: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ do: 'reopen' as const }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('check' as const), at: ts, depsAt: ts }) },
  ),
  { maxLength: 40, size: 'max' },
);

/** Runs a program on a store and on the model, and compares their results. */
export async function checkAgainstModel(harness: StoreHarness, commands: readonly Command[]): Promise<void> {
  const model = new Model();
  const inFlight: Promise<void>[] = [];
  let { store } = harness;
  for (const command of commands) {
    if (command.do === 'reopen') store = await harness.reopen();
    else if (command.do === 'check') {
      await compareBelonging(store, model, command);
      await compare(store, model, command.at, inFlight);
    } else {
      // A late version below the floor may fill a gap that collection left: replication never sends one, and no version
      // is removed there.
      const floors = command.records.map((r) => (r.kind === 'horizon' && r.horizon === 'gcFloor' ? r.upTo : 0));
      const floor = Math.max(model.horizons.gcFloor, ...floors);
      const records = command.records.filter((r) => (timeIn(r) ?? FOREVER) > floor);
      for (const fact of factsOf(records)) model.apply(fact);
      const done = store.commit(records);
      inFlight.push(done);
      if (command.wait) await done;
    }
  }
  await Promise.all(inFlight);
  store = await harness.reopen();
  if (model.horizons.gcFloor === 0)
    expect(store.stats().partitions.get(partition) ?? { keys: 0, versions: 0 }).toEqual(model.size);
  for (const at of [model.horizons.gcFloor, MAX_TS]) {
    await compareBelonging(store, model, { at, depsAt: MAX_TS / 2 });
    await compare(store, model, at, []);
  }
}

/** Without the origin of the document, which collection may change. */
function plain(version: Version | undefined): Version | undefined {
  if (version === undefined) return undefined;
  const { origin: _, ...rest } = version;
  return rest;
}

/** Timestamp of the version that a record adds or removes. */
function timeIn(r: DurableRecord): Timestamp | undefined {
  if (r.kind === 'version') return r.version.ts;
  if (r.kind === 'applied') return r.ct;
  return r.kind === 'remove' ? r.ts : undefined;
}

/** A snapshot of two timestamps: before the prefetch, after it, and in pages of two keys. */
async function compareBelonging(
  store: VersionStore,
  model: Model,
  { at, depsAt }: { readonly at: Timestamp; readonly depsAt: Timestamp },
): Promise<void> {
  const belongs = ({ ts, deps = [] }: StoredVersion) => ts <= at && deps.every((entry) => entry <= depsAt);
  // Protocols with such snapshots have no updates.
  const keys = KEYS.filter((key) => !model.isFolded(key));
  const wanted = new Map(keys.map((key) => [key, model.find(key, belongs)]));
  const check = (key: string, found: Version | undefined) => {
    const version = wanted.get(key);
    if (found !== undefined || version === undefined || !model.mayBeGone(key, version))
      expect(plain(found)).toEqual(version);
  };
  for (const key of keys) check(key, store.find(partition, key, belongs));
  await store.prefetch({ kind: 'chains', partition, keys });
  for (const key of keys) check(key, store.find(partition, key, belongs));
  const listed = new Map<string, Version>();
  for (let start: string | null = ''; start !== null; ) {
    const range = { start, end: null, limit: 2 };
    await store.prefetch({ kind: 'list', partition, range, snapshot: 'any' });
    const page = store.list(partition, range, belongs);
    expect(page.entries.length).toBeLessThanOrEqual(2);
    for (const { key, version } of page.entries) listed.set(key, version);
    start = page.next;
  }
  expect([...listed.keys()]).toEqual([...listed.keys()].sort(compareKeys));
  for (const [key, version] of wanted)
    if (version?.value !== null) check(key, listed.get(key));
    else expect(listed.has(key)).toBe(false);
}

async function compare(store: VersionStore, model: Model, at: Timestamp, inFlight: Promise<void>[]): Promise<void> {
  const snapshot = Math.max(at, model.horizons.gcFloor);
  for (const key of KEYS) {
    const wanted = model.read(key, snapshot);
    const found = store.read(partition, key, snapshot);
    // A tombstone at or below the floor may be gone: the result is the same.
    if (wanted?.value === null && wanted.ts <= model.horizons.gcFloor && found === undefined) continue;
    expect(plain(found)).toEqual(wanted);
  }
  const range = { start: '', end: null, limit: 1000 };
  await store.prefetch({ kind: 'list', partition, range, snapshot });
  expect(store.list(partition, range, snapshot).entries.map((entry) => entry.key)).toEqual(model.list(snapshot));
  // Horizons rise with their batch; versions and log entries are there before.
  await Promise.all(inFlight);
  await store.prefetch({ kind: 'log', partition, after: at, upTo: MAX_TS });
  const { groups, upTo } = store.log(partition, at, MAX_TS);
  expect([upTo, ...groups.flatMap(({ txs }) => txs.map(({ txId, writes }) => [txId, writes.length]))]).toEqual([
    MAX_TS,
    ...model.log(at, MAX_TS),
  ]);
  await store.prefetch({ kind: 'changes', partition, after: at, upTo: MAX_TS });
  const page = store.changes(partition, at, MAX_TS);
  expect([page.upTo, ...page.changes.map(({ tx }) => [tx.txId, tx.writes.length])]).toEqual([
    MAX_TS,
    ...model.changes(at, MAX_TS),
  ]);
  const outcomes = Array.from({ length: 50 }, (_, i) => `t${i}`);
  expect(outcomes.map((txId) => store.outcome(partition, txId))).toEqual(outcomes.map((txId) => model.outcome(txId)));
}
