import type { ChangesPage, Horizons, LogPage, Timestamp } from '@isochron/core';
import { logStartOf } from '../horizons.js';
import { changesPage, insertEntry, type LogEntry, type LogRange, logPage } from './log-entries.js';

/** A range of the log that was read from disk and waits for its use. Entries that are committed meanwhile are added. */
export class HeldLog {
  readonly #entries: LogEntry[] = [];
  #complete: Timestamp | undefined;
  used = false;

  constructor(readonly range: LogRange) {}

  static nameOf({ after, upTo }: LogRange): string {
    return `${after}\n${upTo}`;
  }

  get ready(): boolean {
    return this.#complete !== undefined;
  }

  add(entry: LogEntry): void {
    const { after, upTo } = this.range;
    if (entry.ct > after && entry.ct <= upTo) insertEntry(this.#entries, entry);
  }

  /** Takes an entry from disk. One that is there already is newer, and stays. */
  fill(entry: LogEntry): void {
    const newer = insertEntry(this.#entries, entry);
    if (newer !== undefined) insertEntry(this.#entries, newer);
  }

  /** Everything up to a timestamp was read. */
  finish(upTo: Timestamp): void {
    this.#complete = upTo;
  }

  /** The own entries that a peer may lack. */
  takeLog(horizons: Horizons): LogPage {
    return logPage(this.#entries, this.#taken(logStartOf(horizons)));
  }

  /** The entries of all regions. */
  takeChanges({ logTruncatedUpTo }: Horizons): ChangesPage {
    return changesPage(this.#entries, this.#taken(logTruncatedUpTo), logTruncatedUpTo);
  }

  #taken(start: Timestamp): LogRange {
    this.used = true;
    return { after: Math.max(this.range.after, start), upTo: this.#complete! };
  }
}
