import type { LogPage, Timestamp } from '@isochron/core';
import { insertEntry, type LogEntry, pageOf } from './log-entries.js';

/** A range of the log that was read from disk and waits for its use. Entries that are committed meanwhile are added. */
export class HeldLog {
  readonly #entries: LogEntry[] = [];
  #complete: Timestamp | undefined;
  used = false;

  constructor(
    readonly after: Timestamp,
    readonly upTo: Timestamp,
  ) {}

  static nameOf(after: Timestamp, upTo: Timestamp): string {
    return `${after}\n${upTo}`;
  }

  get ready(): boolean {
    return this.#complete !== undefined;
  }

  add(entry: LogEntry): void {
    if (entry.ct > this.after && entry.ct <= this.upTo) insertEntry(this.#entries, entry);
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

  take(truncatedUpTo: Timestamp): LogPage {
    this.used = true;
    return pageOf(this.#entries, Math.max(this.after, truncatedUpTo), this.#complete!);
  }
}
