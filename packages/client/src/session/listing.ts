/**
 * Listings: the server's pages with the session's own writes laid over them. Drivers load this file when it is used.
 */
import type { Value } from '@isochron/core/ids';
import { compareKeys, isOfLevel } from '@isochron/core/versions';
import { laidOver, type OwnWrite } from '@isochron/protocols/kernel/transactions/write-cache';
import type { RequestFrame } from '@isochron/wire/session-frames';
import { malformed } from '../errors.js';
import { type Caller, type Cancellable, type Carrier, unexpected } from '../link/exchange.js';
import type { Answer, Listed } from '../link/frames.js';
import { SnapshotExchange } from './reads.js';
import { type SnapshotHandle, snapshotOf } from './snapshot-handle.js';

/** The range of a listing, in unqualified keys. */
export interface ListRequest {
  readonly keyspace: string;
  readonly prefix: string;
  readonly start: string;
  readonly limit: number;
  /** Only keys with this many segments; absent for all. */
  readonly level?: number;
}

class ListExchange extends SnapshotExchange<Listed> {
  constructor(
    handle: SnapshotHandle,
    readonly request: ListRequest,
  ) {
    super(handle);
  }

  frame(id: number, connection: Carrier): RequestFrame {
    return { type: 'list', id, ...this.request, ...this.fields(connection) };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'listed') throw unexpected(frame);
    this.handle.accept(snapshotOf(frame));
    this.done(frame);
  }
}

/** One page of a listing, as the server has it. */
export const listPage = (handle: SnapshotHandle, request: ListRequest, caller: Caller<Listed>): Cancellable =>
  new ListExchange(handle, request).run(handle.core.connector.dispatcher.submitTimed, caller);

/** Keys with their values, in key order. `next` is the start of the following page, null after the last one. */
export interface MergedPage {
  readonly entries: readonly (readonly [string, Value])[];
  readonly next: string | null;
}

export type MergePage = (handle: SnapshotHandle, request: ListRequest, caller: Caller<MergedPage>) => Cancellable;

/** One page, with own writes that the snapshot does not hold added, and own deletions taken out. */
export const mergedPage: MergePage = (handle, request, { resolve, reject }) => {
  const merge = (page: Listed): void => {
    const { next } = page;
    if (next !== null && compareKeys(next, request.start) <= 0)
      reject(malformed('a page that continues before its own start'));
    else resolve(merged(page, ownWrites(handle, request, next)));
  };
  return listPage(handle, request, { resolve: merge, reject });
};

function merged({ entries, next }: Listed, own: ReadonlyMap<string, readonly OwnWrite[]>): MergedPage {
  const all = new Map<string, Value>(entries.map(([key, , value]) => [key, value]));
  if (own.size === 0) return { entries: [...all], next };
  for (const [key, writes] of own) {
    // A key of the range that the page lacks has no document in the snapshot.
    const value = laidOver(all.get(key) ?? null, writes) ?? null;
    if (value === null) all.delete(key);
    else all.set(key, value);
  }
  return { entries: [...all].sort(([a], [b]) => compareKeys(a, b)), next };
}

/** Own writes in the range of a page, by unqualified key. */
function ownWrites(handle: SnapshotHandle, request: ListRequest, next: string | null) {
  const { keyspace, prefix, start } = request;
  const own = new Map<string, readonly OwnWrite[]>();
  for (const [qualified, writes] of handle.tx.overlay()) {
    if (!qualified.startsWith(`${keyspace}/`) || !isOfLevel(request.level, qualified)) continue;
    const key = qualified.slice(keyspace.length + 1);
    if (!key.startsWith(prefix) || compareKeys(key, start) < 0) continue;
    if (next === null || compareKeys(key, next) < 0) own.set(key, writes);
  }
  return own;
}
