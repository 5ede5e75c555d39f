/** The documents around the writes of a page of changes, as far as their versions are still kept (CF3). */
import {
  Fold,
  IsochronError,
  type KeyWrite,
  type Origin,
  type QualifiedKey,
  type Timestamp,
  Update,
  type Value,
} from '@isochron/core';
import type { ChangedTx, ChangesResp } from '@isochron/protocols';
import type { CoordinatorPortFor } from '../coordinator/coordinator-port.js';
import type { Done } from '../coordinator/request-port.js';
import { NOTHING_SEEN, wanted } from '../snapshot.js';

/** Which documents a reader asks for. */
export interface DocumentsWanted {
  /** Of each update the document at the commit timestamp. */
  readonly values: boolean;
  /** Of each write the document just below the commit timestamp. */
  readonly before: boolean;
}

/** A document, null where there is none; `gone` where its version is not kept, or does not fit into an answer. */
export type DocumentThen = { readonly document: Value | null } | 'gone';

/** A write with the documents that were asked for. */
export interface DocumentedWrite extends KeyWrite {
  readonly after?: DocumentThen;
  readonly before?: DocumentThen;
}

export interface DocumentedTx extends Pick<ChangedTx, 'txId' | 'ct'> {
  readonly writes: readonly DocumentedWrite[];
}

/** A page with documents. It ends below the page that it is made of where the documents of all do not fit. */
export interface DocumentedPage extends Pick<ChangesResp, 'from' | 'to'> {
  readonly transactions: readonly DocumentedTx[];
}

/** The documents of some keys in a snapshot. */
type SnapshotDocuments = ReadonlyMap<QualifiedKey, Value | null> | 'gone';

/** Transactions whose documents are read at the same time. */
const BATCH = 16;
/** Transactions of a page with documents; it ends with the group that reaches this. */
const MAX_TRANSACTIONS = 1_000;

/** Adds the documents of pages. */
export class ChangeDocuments {
  constructor(
    readonly port: CoordinatorPortFor<'ReadReq'>,
    /** Bytes of documents in one page; it ends with the batch that reaches this. */
    readonly limitBytes: number,
  ) {}

  /** Ends with the error of the first read that fails, unless its snapshot is gone. */
  add(page: ChangesResp, wants: DocumentsWanted, done: Done<DocumentedPage>): void {
    const { from, to, transactions } = page;
    if (wants.values || wants.before) this.#next(page, wants, [], done);
    else done({ from, to, transactions });
  }

  /** One batch after the other, so that not many more documents are in memory than fit. */
  #next(page: ChangesResp, wants: DocumentsWanted, ready: readonly DocumentedTx[], done: Done<DocumentedPage>): void {
    const { from, to, transactions } = page;
    const batch = batchOf(transactions, ready.length);
    const isFull = ready.length >= MAX_TRANSACTIONS || bytesIn(ready) >= this.limitBytes;
    if (batch.length === 0) done({ from, to, transactions: ready });
    else if (isFull) done({ from, to: ready.at(-1)!.ct, transactions: ready });
    else {
      const reads = batch.map((tx) => (one: Done<DocumentedTx>) => this.#documented(tx, wants, one));
      all(reads, (result) => {
        if (result instanceof IsochronError) done(result);
        else
          this.#separate(result, (separated) => {
            if (separated instanceof IsochronError) done(separated);
            else this.#next(page, wants, [...ready, ...separated], done);
          });
      });
    }
  }

  /** Gives writes of one key at one timestamp the documents between them, which no snapshot has. */
  #separate(batch: readonly DocumentedTx[], done: Done<readonly DocumentedTx[]>): void {
    const groups = [...sharedKeys(batch)];
    const reads = groups.map(
      ([ct, keys]) =>
        (one: Done<SnapshotDocuments>) =>
          this.#read([...keys], ct - 1, one),
    );
    if (reads.length === 0) done(batch);
    else
      all(reads, (below) => {
        if (below instanceof IsochronError) done(below);
        else done(groups.reduce((txs, [ct, keys], i) => separated(txs, ct, keys, below[i]!), batch));
      });
  }

  #documented(tx: ChangedTx, wants: DocumentsWanted, done: Done<DocumentedTx>): void {
    const updated = tx.writes.flatMap(({ key, value }) => (value instanceof Update ? [key] : []));
    const written = tx.writes.map(({ key }) => key);
    const reads = [
      (one: Done<SnapshotDocuments>) => this.#read(wants.values ? updated : [], tx.ct, one),
      (one: Done<SnapshotDocuments>) => this.#read(wants.before ? written : [], tx.ct - 1, one),
    ];
    all(reads, (result) => {
      done(result instanceof IsochronError ? result : withDocuments(tx, wants, result[0]!, result[1]!));
    });
  }

  #read(keys: readonly QualifiedKey[], ts: Timestamp, done: Done<SnapshotDocuments>): void {
    if (keys.length === 0) {
      done(new Map());
      return;
    }
    this.port.ask({ type: 'ReadReq', txId: null, ...wanted(NOTHING_SEEN, { ts }), keys }, (result) => {
      if (result instanceof IsochronError) done(result.code === 'SNAPSHOT_TOO_OLD' ? 'gone' : result);
      else {
        const { versions } = result;
        const bytes = versions.reduce((sum, version) => sum + (version?.value?.length ?? 0), 0);
        done(bytes > this.limitBytes ? 'gone' : new Map(keys.map((key, i) => [key, versions[i]?.value ?? null])));
      }
    });
  }
}

/** The transactions from one on, to the end of a group. */
function batchOf(transactions: readonly ChangedTx[], from: number): readonly ChangedTx[] {
  let end = Math.min(from + BATCH, transactions.length);
  while (end < transactions.length && transactions[end]!.ct === transactions[end - 1]!.ct) end++;
  return transactions.slice(from, end);
}

/** Makes calls at the same time. Ends with all results in order, or with the first error. */
function all<T>(calls: readonly ((done: Done<T>) => void)[], done: Done<readonly T[]>): void {
  const results: T[] = [];
  let left = calls.length;
  for (const [i, call] of calls.entries())
    call((result) => {
      if (left <= 0) return;
      if (result instanceof IsochronError) {
        left = 0;
        done(result);
        return;
      }
      results[i] = result;
      left--;
      if (left === 0) done(results);
    });
}

function withDocuments(
  tx: ChangedTx,
  wants: DocumentsWanted,
  after: SnapshotDocuments,
  before: SnapshotDocuments,
): DocumentedTx {
  const writes = tx.writes.map((write) => ({
    ...write,
    ...(wants.values && write.value instanceof Update ? { after: thenIn(after, write.key) } : {}),
    ...(wants.before ? { before: thenIn(before, write.key) } : {}),
  }));
  return { txId: tx.txId, ct: tx.ct, writes };
}

/** For each timestamp at which several transactions write the same keys, these keys. */
function sharedKeys(batch: readonly DocumentedTx[]): ReadonlyMap<Timestamp, ReadonlySet<QualifiedKey>> {
  const shared = new Map<Timestamp, Set<QualifiedKey>>();
  let [at, seen]: [Timestamp, Set<QualifiedKey>] = [-1, new Set()];
  for (const { ct, writes } of batch) {
    if (ct !== at) [at, seen] = [ct, new Set()];
    for (const { key } of writes) {
      if (seen.has(key)) shared.set(ct, (shared.get(ct) ?? new Set()).add(key));
      seen.add(key);
    }
  }
  return shared;
}

/**
 * The transactions with the documents around each write of shared keys at a timestamp: the fold of the writes up to it.
 * @param below the documents just below the timestamp
 */
function separated(
  txs: readonly DocumentedTx[],
  at: Timestamp,
  shared: ReadonlySet<QualifiedKey>,
  below: SnapshotDocuments,
): readonly DocumentedTx[] {
  const current = new Map([...shared].map((key) => [key, thenIn(below, key)] as const));
  return txs.map(({ txId, ct, writes }) => {
    if (ct !== at) return { txId, ct, writes };
    const between = writes.map((write) => {
      const before = current.get(write.key);
      if (before === undefined) return write;
      const after = written(before, write, { ts: ct, txId });
      current.set(write.key, after);
      return { ...write, ...(write.after && { after }), ...(write.before && { before }) };
    });
    return { txId, ct, writes: between };
  });
}

/** The document after a write. */
function written(before: DocumentThen, { value }: KeyWrite, at: Origin): DocumentThen {
  if (!(value instanceof Update)) return { document: value };
  if (before === 'gone') return before;
  const fold = new Fold(before.document);
  fold.apply(value, at);
  return { document: fold.result() };
}

const thenIn = (documents: SnapshotDocuments, key: QualifiedKey): DocumentThen =>
  documents === 'gone' ? documents : { document: documents.get(key) ?? null };

/** Bytes of the documents of transactions. */
export const bytesIn = (transactions: readonly DocumentedTx[]): number =>
  transactions.reduce(
    (sum, { writes }) => sum + writes.reduce((of, { after, before }) => of + bytesOf(after) + bytesOf(before), 0),
    0,
  );

const bytesOf = (then: DocumentThen | undefined): number =>
  then === undefined || then === 'gone' ? 0 : (then.document?.length ?? 0);
