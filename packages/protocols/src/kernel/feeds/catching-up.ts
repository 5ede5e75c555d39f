/**
 * Readers that are behind the tails. Only some at a time request pages, and these keep the pages that they have until
 * they have one of each of their partitions: so each of them goes on, however small the cache is, and their memory is
 * bounded. The other ones wait for their turn.
 */
import type { PartitionId, Timestamp } from '@isochron/core';
import type { LogRangePage } from './pages.js';
import type { Reader } from './reader.js';

type KeptPages = Map<PartitionId, LogRangePage>;

export class CatchingUp {
  readonly #active = new Map<Reader, KeptPages>();
  readonly #queue = new Set<Reader>();
  /** Partitions of the active ones: each may keep a page. */
  #pages = 0;

  /** @param maxPages pages that all active readers keep at most; one reader may always be active */
  constructor(readonly maxPages: number) {}

  /** Makes a reader active, or lets it wait for its turn. @returns whether it is active */
  enter(reader: Reader): boolean {
    if (this.#active.has(reader)) return true;
    if (!this.#fits(reader)) {
      this.#queue.add(reader);
      return false;
    }
    this.#queue.delete(reader);
    this.#active.set(reader, new Map());
    this.#pages += reader.partitions.size;
    return true;
  }

  /** Readers that request pages. */
  get active(): Iterable<Reader> {
    return this.#active.keys();
  }

  isActive(reader: Reader): boolean {
    return this.#active.has(reader);
  }

  /** Whether a reader is active, or could be. */
  admits(reader: Reader): boolean {
    return this.#active.has(reader) || this.#fits(reader);
  }

  leave(reader: Reader): void {
    this.#queue.delete(reader);
    if (this.#active.delete(reader)) this.#pages -= reader.partitions.size;
  }

  /** The next reader whose turn it is. */
  next(): Reader | undefined {
    const [first] = this.#queue;
    if (first === undefined || !this.#fits(first)) return undefined;
    this.#queue.delete(first);
    return first;
  }

  /** A page came. */
  offer(page: LogRangePage): void {
    for (const [reader, kept] of this.#active)
      if (reader.partitions.has(page.partition) && covers(page, reader.position)) kept.set(page.partition, page);
  }

  /** A page that a reader keeps. */
  find(reader: Reader, partition: PartitionId): LogRangePage | undefined {
    const page = this.#active.get(reader)?.get(partition);
    return page !== undefined && covers(page, reader.position) ? page : undefined;
  }

  /** An active reader keeps pages. */
  keep(reader: Reader, pages: readonly LogRangePage[]): void {
    const kept = this.#active.get(reader);
    for (const page of pages) kept?.set(page.partition, page);
  }

  #fits(reader: Reader): boolean {
    return this.#active.size === 0 || this.#pages + reader.partitions.size <= this.maxPages;
  }
}

const covers = ({ after, upTo }: LogRangePage, position: Timestamp): boolean => after <= position && upTo > position;
