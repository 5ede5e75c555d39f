import type { ChangesPage, Horizons, LogPage, Timestamp } from '@isochron/core';
import { logStartOf } from '../horizons.js';
import { changesPage, insertEntry, type LogEntry, type LogRange, logPage, mergeEntries } from './log-entries.js';

/** A range of the log that was read from disk and waits for its use. Entries that are committed meanwhile are added. */
export class HeldLog {
  readonly #fromDisk: LogEntry[] = [];
  /** Entries that the disk did not hold, or held in an older form. */
  readonly #newer: LogEntry[] = [];
  #complete: Timestamp | undefined;
  used = false;

  constructor(readonly range: LogRange) {}

  static nameOf({ after, upTo }: LogRange): string {
    return `${after}\n${upTo}`;
  }

  get ready(): boolean {
    return this.#complete !== undefined;
  }

  /** Takes an entry that is committed now. */
  add(entry: LogEntry): void {
    const { after, upTo } = this.range;
    if (entry.ct > after && entry.ct <= upTo) insertEntry(this.#newer, entry);
  }

  /** Takes an entry that was committed before the reading began, and that the disk does not hold. */
  addEarlier(entry: LogEntry): void {
    const newer = insertEntry(this.#newer, entry);
    if (newer !== undefined) insertEntry(this.#newer, newer);
  }

  /** Takes the next entry from disk. */
  fill(entry: LogEntry): void {
    this.#fromDisk.push(entry);
  }

  /** Everything up to a timestamp was read. */
  finish(upTo: Timestamp): void {
    this.#complete = upTo;
  }

  /** The own entries that a peer may lack. */
  takeLog(horizons: Horizons): LogPage {
    return logPage(this.#entries(), this.#taken(logStartOf(horizons)));
  }

  /** The entries of all regions. */
  takeChanges({ logTruncatedUpTo }: Horizons): ChangesPage {
    return changesPage(this.#entries(), this.#taken(logTruncatedUpTo), logTruncatedUpTo);
  }

  #entries(): LogEntry[] {
    return mergeEntries(this.#fromDisk, this.#newer);
  }

  #taken(start: Timestamp): LogRange {
    this.used = true;
    return { after: Math.max(this.range.after, start), upTo: this.#complete! };
  }
}
