/** A coordinator with versions in memory, for tests of access rules: the test moves its stable time. */
import {
  Fold,
  IsochronError,
  type KeyWrite,
  type QualifiedKey,
  type Timestamp,
  Update,
  type Version,
} from '@isochron/core';
import type { ChangesResp, LiveResp, ReadResp } from '@isochron/protocols';
import type {
  CoordinatorAnswer,
  CoordinatorPort,
  CoordinatorRequest,
  CoordinatorRequests,
  CoordinatorRequestType,
} from '@isochron/sessions/coordinator/coordinator-port';
import type { Done, RequestHandler, RequestHandlers } from '@isochron/sessions/coordinator/request-port';
import { ListPlaces } from '@isochron/sessions/tokens/list-places';

/** The places of lists in tests. */
export const PLACES = new ListPlaces(['secret of tests'], 'cluster of tests');

/** The end of a call: its result, or the code of its error; undefined while it waits. */
export function endOf<T extends object>(
  call: (done: (result: T | IsochronError) => void) => void,
): T | string | undefined {
  const box: { end?: T | string } = {};
  call((result) => {
    box.end = result instanceof IsochronError ? `${result.code}: ${result.message}` : result;
  });
  return box.end;
}

export class VersionedCoordinator implements CoordinatorPort {
  readonly #versions = new Map<QualifiedKey, Version[]>();
  readonly #open = new Map<string, Timestamp>();
  readonly committed = new Map<string, Timestamp>();
  /** Transactions that were ended without a commit. */
  readonly ended: string[] = [];
  /** Transactions that were settled. */
  readonly settled: string[] = [];
  /** Keys of each read. */
  readonly reads: (readonly QualifiedKey[])[] = [];
  /** Transaction and snapshot that each read names. */
  readonly readPlaces: { readonly txId: string | null; readonly at: Timestamp | null }[] = [];
  /** How many pages were listed. */
  lists = 0;
  ust: Timestamp = 10;
  /** The replicas have applied the versions up to it. */
  applied: Timestamp = Number.MAX_SAFE_INTEGER;
  clock: Timestamp = 10;
  /** The next answers to requests for changes. */
  page: Omit<ChangesResp, 'type' | 'ref'> | undefined;
  changes_: Omit<LiveResp, 'type' | 'ref'> | undefined;
  /** Requests of live readers, and for pages of the feed. */
  readonly lives: CoordinatorRequest<'LiveReq'>[] = [];
  readonly pages: CoordinatorRequest<'ChangesReq'>[] = [];

  /** Stores documents at the next timestamp; stable at once unless told otherwise. */
  store(documents: Readonly<Record<QualifiedKey, unknown>>, isStable = true): Timestamp {
    const ct = this.#write(
      Object.entries(documents).map(([key, value]) => ({ key, value: value === null ? null : JSON.stringify(value) })),
      `stored-${this.clock + 1}`,
    );
    if (isStable) this.ust = ct;
    return ct;
  }

  /** The newest document. */
  document(key: QualifiedKey): unknown {
    const value = this.#at(key, this.clock)?.value;
    return typeof value === 'string' ? JSON.parse(value) : value;
  }

  /** Serves requests; a test may replace entries. */
  readonly handlers: { -readonly [T in CoordinatorRequestType]?: RequestHandlers<CoordinatorRequests>[T] } = {
    StartTxReq: ({ txId, at }, done) => {
      this.#open.set(txId, at ?? this.ust);
      done({ type: 'StartTxResp', ref: 0, snapshot: at ?? this.ust });
    },
    ReadReq: ({ txId, at, keys, newest }, done) => {
      this.reads.push(keys);
      this.readPlaces.push({ txId, at });
      const snapshot = this.#snapshot(txId, at);
      const versions = keys.map((key) => this.#at(key, snapshot));
      const newer = newest === true ? this.#above(keys, snapshot) : undefined;
      done({ type: 'ReadResp', ref: 0, snapshot, versions, newer });
    },
    ListReq: ({ txId, at, range }, done) => {
      const snapshot = this.#snapshot(txId, at);
      const keys = [...this.#versions.keys()].filter(
        (key) => key >= range.start && (range.end === null || key < range.end),
      );
      const all = keys.sort().flatMap((key) => {
        const version = this.#at(key, snapshot);
        return version === null ? [] : [{ key, version }];
      });
      this.lists++;
      const entries = all.slice(0, range.limit);
      done({ type: 'ListResp', ref: 0, snapshot, entries, next: all[range.limit]?.key ?? null });
    },
    CommitReq: ({ txId, writes }, done) => {
      const ct = this.committed.get(txId) ?? this.#write(writes, txId);
      this.committed.set(txId, ct);
      done({ type: 'CommitResp', ref: 0, txId, ct });
    },
    EndTxReq: ({ txId }, done) => {
      this.ended.push(txId);
      done({ type: 'EndTxResp', ref: 0 });
    },
    TxStatusReq: ({ txId }, done) => {
      const ts = this.committed.get(txId);
      const status = ts === undefined ? 'unknown' : 'committed';
      done({ type: 'TxStatusResp', ref: 0, status, ts: ts ?? 0, attempt: 0 });
    },
    SettleCommitReq: ({ txId }, done) => {
      this.settled.push(txId);
      done({ type: 'SettleCommitResp', ref: 0, txId, ct: this.committed.get(txId) ?? null });
    },
    // Behind its page nothing has changed.
    ChangesReq: (request, done) => {
      this.pages.push(request);
      const { page } = this;
      if (page === undefined) done(new IsochronError('INTERNAL', 'no page'));
      else if (request.after === page.to)
        done({ type: 'ChangesResp', ref: 0, from: page.to, to: page.to, transactions: [] });
      else done({ type: 'ChangesResp', ref: 0, ...page });
    },
    LiveReq: (request, done) => {
      this.lives.push(request);
      const { changes_ } = this;
      if (changes_ === undefined) done(new IsochronError('INTERNAL', 'no changes'));
      else if (request.after === changes_.to) done({ type: 'LiveResp', ref: 0, to: changes_.to, changes: [] });
      else done({ type: 'LiveResp', ref: 0, ...changes_ });
    },
    LiveEnd: (_request, done) => done(undefined),
  };

  ask<T extends CoordinatorRequestType>(request: CoordinatorRequest<T>, done: Done<CoordinatorAnswer<T>>): void {
    const handler: RequestHandler<CoordinatorRequests, T> | undefined = this.handlers[request.type];
    if (handler === undefined) throw new Error(`no test serves ${request.type}`);
    handler(request, done);
  }

  #above(keys: readonly QualifiedKey[], snapshot: Timestamp): ReadResp['newer'] {
    return keys.flatMap((key, index) => {
      const version = this.#versions.get(key)?.findLast(({ ts }) => ts <= this.applied);
      return version === undefined || version.ts <= snapshot ? [] : [{ index, version }];
    });
  }

  #snapshot(txId: string | null, at: Timestamp | null): Timestamp {
    return (txId === null ? undefined : this.#open.get(txId)) ?? at ?? this.ust;
  }

  #write(writes: readonly KeyWrite[], txId: string): Timestamp {
    const ts = ++this.clock;
    for (const { key, value } of writes) {
      const versions = this.#versions.get(key) ?? [];
      versions.push({ ts, txId, region: 'r', value: this.#content(key, value) });
      this.#versions.set(key, versions);
    }
    return ts;
  }

  #content(key: QualifiedKey, value: KeyWrite['value']): Version['value'] {
    if (!(value instanceof Update)) return value;
    const fold = new Fold(this.#at(key, this.clock)?.value ?? null);
    fold.apply(value);
    return fold.result();
  }

  #at(key: QualifiedKey, snapshot: Timestamp): Version | null {
    const version = this.#versions.get(key)?.findLast(({ ts }) => ts <= snapshot);
    return version === undefined || version.value === null ? null : version;
  }
}
