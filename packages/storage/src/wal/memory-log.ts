import { IsochronError } from '@isochron/core';
import { CorruptRecord } from '../failure.js';
import type { DurableLog, OnRecord, Position } from './durable-log.js';

/** The records of a log in memory, which several openings share one after the other. */
export class MemoryLogState {
  first: Position = 0;
  records: Uint8Array[] = [];

  get end(): Position {
    return this.first + this.records.length;
  }
}

/** A log that is as durable as the state's owner, for tests and simulations. A cut frees all records below it. */
export function openMemoryLog(state: MemoryLogState = new MemoryLogState()): DurableLog {
  return new MemoryLog(state);
}

class MemoryLog implements DurableLog {
  #closed = false;

  constructor(readonly state: MemoryLogState) {}

  get first(): Position {
    return this.state.first;
  }

  get end(): Position {
    return this.state.end;
  }

  async append(records: readonly Uint8Array[]): Promise<Position> {
    this.#refuseClosed();
    const first = this.end;
    for (const record of records) this.state.records.push(Uint8Array.from(record));
    return first;
  }

  async read(from: Position, each: OnRecord): Promise<void> {
    this.#refuseClosed();
    const { first, end, records } = this.state;
    if (from < first || from > end)
      throw new CorruptRecord(null, 'missing', `The log holds positions ${first} to ${end}, and not ${from}`);
    records.slice(from - first).forEach((record, i) => {
      each(record, from + i);
    });
  }

  async cut(below: Position): Promise<void> {
    this.#refuseClosed();
    const count = Math.min(below, this.end) - this.first;
    if (count <= 0) return;
    this.state.records.splice(0, count);
    this.state.first += count;
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #refuseClosed(): void {
    if (this.#closed) throw new IsochronError('STORAGE_FAILED', 'The log is closed', { retryable: false });
  }
}
