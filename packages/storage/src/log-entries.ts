import { contentLength, type LogGroup, type LoggedTx, type LogPage, type Timestamp } from '@isochron/core';
import { dependsBytes, depsBytes } from './versions.js';

/** A page of the log ends with the group that reaches one of these. */
const PAGE_TXS = 1000;
const PAGE_BYTES = 1024 * 1024;

/** One logged transaction. */
export interface LogEntry {
  readonly ct: Timestamp;
  readonly tx: LoggedTx;
  readonly bytes: number;
}

export const logEntry = (ct: Timestamp, tx: LoggedTx): LogEntry => ({ ct, tx, bytes: txBytes(tx) });

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

/** Inserts an entry in its place; replaces one of the same transaction, and returns it. */
export function insertEntry(entries: LogEntry[], entry: LogEntry): LogEntry | undefined {
  let i = entries.length;
  while (i > 0) {
    const order = compareEntries(entries[i - 1]!, entry);
    if (order < 0) break;
    i--;
    if (order === 0) {
      const replaced = entries[i];
      entries[i] = entry;
      return replaced;
    }
  }
  if (i === entries.length) entries.push(entry);
  else entries.splice(i, 0, entry);
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

/** The page of `entries` (in order) with `after < ct <= upTo`, cut to the limits of a page but never inside a group. */
export function pageOf(entries: readonly LogEntry[], after: Timestamp, upTo: Timestamp): LogPage {
  const cutter = new PageCutter();
  const groups: LogGroup[] = [];
  let txs: LoggedTx[] = [];
  for (let i = firstAbove(entries, after); i < entries.length && entries[i]!.ct <= upTo; i++) {
    const entry = entries[i]!;
    const previous = cutter.lastCt;
    if (cutter.endsBefore(entry)) return { groups, upTo: previous };
    if (entry.ct !== previous) {
      txs = [];
      groups.push({ ct: entry.ct, txs });
    }
    txs.push(entry.tx);
  }
  return { groups, upTo };
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

  page(after: Timestamp, upTo: Timestamp): LogPage {
    return pageOf(this.#entries, after, upTo);
  }

  /** Drops entries at or below a timestamp. */
  truncate(upTo: Timestamp): void {
    this.#drop(firstAbove(this.#entries, upTo));
    if (upTo > this.#from) this.#from = upTo;
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
