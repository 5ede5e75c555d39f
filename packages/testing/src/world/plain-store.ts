/**
 * A naive store for tests: every record in plain maps, applied when its batch is on disk. Independent of
 * `packages/storage`.
 */
import {
  type Belongs,
  type Change,
  type ChangesPage,
  type CopyPage,
  compareKeys,
  compareVersions,
  type DurableFact,
  type DurableRecord,
  factsOf,
  foldVersions,
  type Horizon,
  isPlain,
  type ListPage,
  type ListRange,
  type LoggedTx,
  type LogPage,
  type MetaValue,
  type OutcomeRecord,
  type PartitionId,
  type PreparedRecord,
  type QualifiedKey,
  type RecoveredState,
  type StoredVersion,
  type Timestamp,
  type TxId,
  type Version,
  type VersionReader,
} from '@isochron/core';

/** Chains in one page of a copy. */
const PAGE_CHAINS = 3;

/** The fold of versions, newest first (F1). */
function folded(versions: readonly StoredVersion[]): Version | undefined {
  const newest = versions[0];
  return newest === undefined || isPlain(newest) ? newest : foldVersions(undefined, [...versions].reverse());
}

export class PlainStore implements VersionReader {
  readonly chains = new Map<string, StoredVersion[]>();
  readonly outcomes = new Map<string, OutcomeRecord>();
  readonly prepared = new Map<string, { partition: PartitionId; txId: TxId; record: PreparedRecord }>();
  readonly meta = new Map<string, MetaValue>();
  readonly logs = new Map<PartitionId, Change[]>();

  apply(record: DurableRecord): void {
    for (const fact of factsOf([record])) this.#apply(fact);
  }

  #apply(record: DurableFact): void {
    switch (record.kind) {
      case 'version': {
        const key = `${record.partition}|${record.key}`;
        const chain = this.chains.get(key) ?? [];
        if (!chain.some((v) => compareVersions(v, record.version) === 0)) chain.push(record.version);
        chain.sort((a, b) => compareVersions(b, a));
        this.chains.set(key, chain);
        return;
      }
      case 'remove': {
        const key = `${record.partition}|${record.key}`;
        const left = this.chains.get(key)?.filter(({ ts, txId }) => ts !== record.ts || txId !== record.txId) ?? [];
        if (left.length > 0) this.chains.set(key, left);
        else this.chains.delete(key);
        return;
      }
      case 'prepared': {
        const { partition, txId, record: prepared } = record;
        if (prepared === null) this.prepared.delete(`${partition}|${txId}`);
        else this.prepared.set(`${partition}|${txId}`, { partition, txId, record: prepared });
        return;
      }
      case 'outcome':
        this.outcomes.set(`${record.partition}|${record.txId}`, record.record);
        return;
      case 'log': {
        const log = (this.logs.get(record.partition) ?? []).filter(
          ({ ct, tx }) => ct !== record.ct || tx.txId !== record.tx.txId,
        );
        log.push({ ct: record.ct, tx: record.tx, source: record.source });
        log.sort((a, b) => a.ct - b.ct || (a.tx.txId < b.tx.txId ? -1 : 1));
        this.logs.set(record.partition, log);
        return;
      }
      case 'horizon': {
        const { partition, horizon, bytes } = record;
        const upTo = Math.max(record.upTo, bytes === undefined ? 0 : this.#truncationFor(partition, bytes));
        this.meta.set(`${horizon}/${partition}`, upTo);
        this.#drop(partition, horizon, upTo);
        return;
      }
      case 'meta':
        this.meta.set(record.name, record.value);
    }
  }

  /** The newest entry at or below `ust` that must go for the others to take no more than some bytes, as JSON. */
  #truncationFor(partition: PartitionId, bytes: number): Timestamp {
    const ust = Number(this.meta.get('ust') ?? 0);
    const settled = (this.logs.get(partition) ?? []).filter(({ ct }) => ct <= ust);
    let taken = 0;
    for (const entry of settled.reverse()) {
      taken += JSON.stringify(entry).length;
      if (taken > bytes) return entry.ct;
    }
    return 0;
  }

  read(partition: PartitionId, key: QualifiedKey, snapshot: Timestamp): Version | undefined {
    return this.find(partition, key, ({ ts }) => ts <= snapshot);
  }

  find(partition: PartitionId, key: QualifiedKey, belongs: Belongs): Version | undefined {
    return folded((this.chains.get(`${partition}|${key}`) ?? []).filter(belongs));
  }

  list(partition: PartitionId, range: ListRange, snapshot: Timestamp | Belongs): ListPage {
    const belongs = typeof snapshot === 'function' ? snapshot : ({ ts }: StoredVersion) => ts <= snapshot;
    const prefix = `${partition}|`;
    const keys = [...this.chains.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length))
      .filter((key) => compareKeys(key, range.start) >= 0 && (range.end === null || compareKeys(key, range.end) < 0))
      .sort(compareKeys);
    const entries: { key: QualifiedKey; version: Version }[] = [];
    for (const key of keys) {
      const version = this.find(partition, key, belongs);
      if (version === undefined || version.value === null) continue;
      if (entries.length === range.limit) return { entries, next: key };
      entries.push({ key, version });
    }
    return { entries, next: null };
  }

  /** The own transactions that a peer may lack. */
  ownLog(partition: PartitionId): Change[] {
    const from = this.#horizon('logConfirmedUpTo', partition);
    return (this.logs.get(partition) ?? []).filter(({ ct, source }) => source === undefined && ct > from);
  }

  log(partition: PartitionId, after: Timestamp, upTo: Timestamp): LogPage {
    const groups: { ct: Timestamp; txs: LoggedTx[] }[] = [];
    for (const { ct, tx } of this.ownLog(partition)) {
      if (ct <= after || ct > upTo) continue;
      const last = groups.at(-1);
      if (last?.ct === ct) last.txs.push(tx);
      else groups.push({ ct, txs: [tx] });
    }
    return { groups, upTo };
  }

  changes(partition: PartitionId, after: Timestamp, upTo: Timestamp): ChangesPage {
    const changes = (this.logs.get(partition) ?? []).filter(({ ct }) => ct > after && ct <= upTo);
    return { changes, upTo, truncatedUpTo: this.#horizon('logTruncatedUpTo', partition) };
  }

  copy(partition: PartitionId, start: QualifiedKey): CopyPage {
    const prefix = `${partition}|`;
    const chains = [...this.chains]
      .filter(([name]) => name.startsWith(prefix) && compareKeys(name.slice(prefix.length), start) >= 0)
      .map(([name, versions]) => ({ key: name.slice(prefix.length), versions: [...versions].reverse() }))
      .sort((a, b) => compareKeys(a.key, b.key));
    // Small pages, so that every copy has several.
    return { chains: chains.slice(0, PAGE_CHAINS), next: chains[PAGE_CHAINS]?.key ?? null };
  }

  outcome(partition: PartitionId, txId: TxId): OutcomeRecord | undefined {
    return this.outcomes.get(`${partition}|${txId}`);
  }

  /** The prepares without a decision. */
  undecided(): RecoveredState['prepared'] {
    return [...this.prepared.values()].filter(({ record }) => record.ct === undefined);
  }

  /** The end of a transaction as the disk has it: its outcome, or the decision in its prepare. */
  end(partition: PartitionId, txId: TxId): OutcomeRecord | undefined {
    const { ct, attempt, digest } = this.prepared.get(`${partition}|${txId}`)?.record ?? {};
    if (ct === undefined) return this.outcome(partition, txId);
    return { status: 'committed', ts: ct, attempt: attempt!, digest: digest! };
  }

  recover(): RecoveredState {
    const own = [...this.logs].map(([id, log]) => [id, log.findLast(({ source }) => source === undefined)] as const);
    const logEnds = new Map(own.flatMap(([id, last]) => (last === undefined ? [] : [[id, last.ct] as const])));
    return { meta: this.meta, prepared: [...this.prepared.values()], logEnds };
  }

  #horizon(name: string, partition: PartitionId): Timestamp {
    const value = this.meta.get(`${name}/${partition}`);
    return typeof value === 'number' ? value : 0;
  }

  #drop(partition: PartitionId, horizon: Horizon, upTo: Timestamp): void {
    if (horizon === 'gcFloor') this.#collect(partition, upTo);
    if (horizon === 'logTruncatedUpTo')
      this.logs.set(
        partition,
        (this.logs.get(partition) ?? []).filter(({ ct }) => ct > upTo),
      );
    if (horizon === 'forgottenUpTo')
      for (const [key, { ts }] of this.outcomes)
        if (key.startsWith(`${partition}|`) && ts < upTo) this.outcomes.delete(key);
  }

  #collect(partition: PartitionId, floor: Timestamp): void {
    for (const [key, chain] of this.chains) {
      if (!key.startsWith(`${partition}|`)) continue;
      const newest = chain.findIndex((version) => version.ts < floor || (version.ts === floor && isPlain(version)));
      if (newest < 0) continue;
      const { origin: _, ...fold } = folded(chain.slice(newest))!;
      const kept = fold.value === null && newest === 0 ? [] : [...chain.slice(0, newest), fold];
      if (kept.length === 0) this.chains.delete(key);
      else this.chains.set(key, kept);
    }
  }
}
