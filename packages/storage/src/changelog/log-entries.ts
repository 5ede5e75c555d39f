import {
  type Change,
  type ChangesPage,
  contentLength,
  type LogGroup,
  type LoggedTx,
  type LogPage,
  type Timestamp,
} from '@isochron/core';
import { dependsBytes, depsBytes } from '../versions.js';

/** A page of the log ends with the group that reaches one of these. */
const PAGE_TXS = 1000;
const PAGE_BYTES = 1024 * 1024;

/** Entries that all regions have and that stay in memory for readers of changes. */
const SETTLED_BYTES = 128 * 1024;

/** One logged transaction. */
export interface LogEntry extends Change {
  readonly bytes: number;
}

export const logEntry = ({ ct, tx, source }: Change): LogEntry => ({ ct, tx, source, bytes: txBytes(tx) });

const isOwn = ({ source }: Change): boolean => source === undefined;

/** Estimate of a transaction's size, in memory and on the wire. */
function txBytes(tx: LoggedTx): number {
  let bytes = 64 + depsBytes(tx.deps) + dependsBytes(tx.depends);
  for (const { key, value } of tx.writes) bytes += 32 + key.length + contentLength(value);
  return bytes;
}

/** Order of the log: by commit timestamp, transactions of one group by id. */
export function compareEntries(a: LogEntry, b: LogEntry): number {
  if (a.ct !== b.ct) return a.ct - b.ct;
  return a.tx.txId < b.tx.txId ? -1 : a.tx.txId > b.tx.txId ? 1 : 0;
}

/** Inserts an entry in its place; replaces an entry of the same transaction, and returns it. */
export function insertEntry(entries: LogEntry[], entry: LogEntry): LogEntry | undefined {
  const last = entries.at(-1);
  // Most entries come in order.
  let low = last === undefined || compareEntries(last, entry) < 0 ? entries.length : 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareEntries(entries[middle]!, entry) < 0) low = middle + 1;
    else high = middle;
  }
  const there = entries[low];
  if (there !== undefined && compareEntries(there, entry) === 0) {
    entries[low] = entry;
    return there;
  }
  if (low === entries.length) entries.push(entry);
  else entries.splice(low, 0, entry);
  return undefined;
}

/** Index of the first entry above a commit timestamp. */
export function firstAbove(entries: readonly LogEntry[], ct: Timestamp): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (entries[middle]!.ct > ct) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The entries, which are in order, of a range. */
export const entriesIn = (entries: readonly LogEntry[], { after, upTo }: LogRange): LogEntry[] =>
  entries.slice(firstAbove(entries, after), firstAbove(entries, upTo));

/** The entries of two lists in order; of an entry that both have, the entry of the second list. */
export function mergeEntries(older: readonly LogEntry[], newer: readonly LogEntry[]): LogEntry[] {
  const merged: LogEntry[] = [];
  let i = 0;
  for (const entry of newer) {
    while (i < older.length && compareEntries(older[i]!, entry) < 0) merged.push(older[i++]!);
    if (i < older.length && compareEntries(older[i]!, entry) === 0) i++;
    merged.push(entry);
  }
  for (; i < older.length; i++) merged.push(older[i]!);
  return merged;
}

/** Decides where a page of the log ends, from the entries in order. */
export class PageCutter {
  #ct: Timestamp = -1;
  #txs = 0;
  #bytes = 0;

  /** Whether the page has to end before this entry; `lastCt` is then its last group. */
  endsBefore(entry: LogEntry): boolean {
    if (entry.ct !== this.#ct && (this.#txs >= PAGE_TXS || this.#bytes >= PAGE_BYTES)) return true;
    this.#ct = entry.ct;
    this.#txs++;
    this.#bytes += entry.bytes;
    return false;
  }

  get lastCt(): Timestamp {
    return this.#ct;
  }
}

/** A range of a log: `after < ct <= upTo`. */
export interface LogRange {
  readonly after: Timestamp;
  readonly upTo: Timestamp;
}

/** Entries of one page, and how far it is complete. */
interface Cut {
  readonly entries: readonly LogEntry[];
  readonly upTo: Timestamp;
}

/** The entries (in order) of a range that belong to a page, cut to its limits but never inside a group. */
function cut(all: readonly LogEntry[], { after, upTo }: LogRange, belongs: (entry: LogEntry) => boolean): Cut {
  const cutter = new PageCutter();
  const entries: LogEntry[] = [];
  for (let i = firstAbove(all, after); i < all.length && all[i]!.ct <= upTo; i++) {
    const entry = all[i]!;
    if (!belongs(entry)) continue;
    const previous = cutter.lastCt;
    if (cutter.endsBefore(entry)) return { entries, upTo: previous };
    entries.push(entry);
  }
  return { entries, upTo };
}

/** The page of a range with the own ones among some entries, which are in order. */
export function logPage(all: readonly LogEntry[], range: LogRange): LogPage {
  const { entries, upTo } = cut(all, range, isOwn);
  const groups: LogGroup[] = [];
  let txs: LoggedTx[] = [];
  for (const { ct, tx } of entries) {
    if (groups.at(-1)?.ct !== ct) {
      txs = [];
      groups.push({ ct, txs });
    }
    txs.push(tx);
  }
  return { groups, upTo };
}

/** The page of a range with all entries, which are in order. */
export function changesPage(all: readonly LogEntry[], range: LogRange, truncatedUpTo: Timestamp): ChangesPage {
  const { entries, upTo } = cut(all, range, () => true);
  return { changes: entries, upTo, truncatedUpTo };
}

/** The newest log entries of a partition, in memory under a byte limit. */
export class LogTail {
  readonly #entries: LogEntry[] = [];
  #bytes = 0;
  /** Everything above is in memory. */
  #from: Timestamp;

  constructor(
    from: Timestamp,
    readonly limitBytes: number,
  ) {
    this.#from = from;
  }

  covers(after: Timestamp): boolean {
    return after >= this.#from;
  }

  add(entry: LogEntry): void {
    if (entry.ct <= this.#from) return;
    const replaced = insertEntry(this.#entries, entry);
    this.#bytes += entry.bytes - (replaced?.bytes ?? 0);
    if (this.#bytes > this.limitBytes) this.#shrink();
  }

  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  /** Drops entries at or below a timestamp. */
  truncate(upTo: Timestamp): void {
    this.#drop(firstAbove(this.#entries, upTo));
    if (upTo > this.#from) this.#from = upTo;
  }

  /** Entries at or below a timestamp are needed by readers of changes alone: the oldest of them may go. */
  settle(upTo: Timestamp): void {
    const settled = firstAbove(this.#entries, upTo);
    let bytes = this.#bytes;
    let gone = 0;
    while (gone < settled && bytes > SETTLED_BYTES) bytes -= this.#entries[gone++]!.bytes;
    if (gone > 0) this.truncate(this.#entries[gone - 1]!.ct);
  }

  /** Keeps the newer half, and groups whole. */
  #shrink(): void {
    const ct = this.#entries[this.#entries.length >>> 1]!.ct;
    this.truncate(ct);
  }

  #drop(count: number): void {
    for (let i = 0; i < count; i++) this.#bytes -= this.#entries[i]!.bytes;
    this.#entries.splice(0, count);
  }
}
