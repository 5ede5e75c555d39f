/**
 * Settled keys in memory, off the JavaScript heap: a row has the only version of a key, packed in a page of bytes. An
 * open-addressed table of numbers finds the rows, so that neither keys nor rows are objects that a collection marks.
 */
import type { PartitionId, QualifiedKey, StoredVersion, Value } from '@isochron/core';
import { openRelations, sealRelations } from '../level/records.js';

/** A version that a row can hold. */
export type RowVersion = StoredVersion & { readonly value: Value };

/** A key's only version, and the number that its next segment gets. */
export interface Row {
  readonly version: RowVersion;
  readonly first: number;
}

/** Bytes of a page at most, unless a single row is longer, and at least. */
const PAGE_BYTES = 64 * 1024;
const MIN_PAGE_BYTES = 256;
/** Rows begin at multiples of this. */
const UNIT = 8;
/**
 * Places in a page. The number of a place is that of the page times this, and the unit in the page, from 1 on: a slot
 * of the table has room for the pages of 32 GiB, twice the highest limit of the memory.
 */
const UNITS = PAGE_BYTES / UNIT;
/** Empty pages that are kept for the next rows. */
const SPARE_PAGES = 4;
const MIN_SLOTS = 64;

/** Places of the fields of a row. The key, the transaction, the value and its relations follow. */
const HASH = 0;
const SIZE = 4;
const FLAGS = 8;
const TX_BYTES = 9;
const REGION = 10;
const KEY_BYTES = 12;
const TS = 16;
const FIRST = 24;
const VALUE_BYTES = 28;
const RELATION_BYTES = 32;
const HEADER = 36;

/** Flags of a row. */
const WIDE_KEY = 1;
const WIDE_VALUE = 2;
const BYTES_VALUE = 4;
/** Read since eviction last considered the row. */
const HOT = 8;
const REMOVED = 16;

const MAX_TX_BYTES = 255;
/** A read copies the value out of the page: longer values stay chains, whose reads copy nothing. */
const MAX_VALUE = 8192;
/** Versions of more regions stay chains. */
const MAX_REGIONS = 1024;

interface Page {
  readonly number: number;
  readonly bytes: Buffer;
  used: number;
  /** Bytes of the rows that were not removed. */
  live: number;
  /** Whether less than half is live: the page is to be compacted. */
  sparse: boolean;
}

const isWide = (text: string): boolean => /[^\0-\xff]/.test(text);
const aligned = (bytes: number): number => Math.ceil(bytes / UNIT) * UNIT;

export class Rows {
  /** Of all pages and of the table. */
  bytes = 0;
  count = 0;
  readonly #pages: (Page | undefined)[] = [];
  readonly #freeNumbers: number[] = [];
  readonly #spare: Buffer[] = [];
  /** Pages that are to be compacted. */
  readonly #sparse: Page[] = [];
  /** The page that new rows go to. */
  #filling: Page | undefined;
  /** The number of the page that eviction looks at next (CLOCK). */
  #hand = 0;
  /** Places of rows by hash, with linear probing; 0 is empty. A power of two. */
  #slots = new Uint32Array(0);
  /** Numbers of the regions' names. */
  readonly #regions: string[] = [];
  readonly #regionNumbers = new Map<string, number>();

  /** Bytes of a page that no long row has to itself. */
  readonly pageBytes: number;

  constructor(pageBytes = PAGE_BYTES) {
    this.pageBytes = aligned(Math.min(PAGE_BYTES, Math.max(MIN_PAGE_BYTES, pageBytes)));
  }

  /** Whether a version can be packed. */
  holds(version: StoredVersion): version is RowVersion {
    const { txId, region, value } = version;
    if (typeof value !== 'string' && !(value instanceof Uint8Array)) return false;
    const hasNumber = this.#regionNumbers.has(region) || this.#regions.length < MAX_REGIONS;
    return hasNumber && value.length <= MAX_VALUE && txId.length <= MAX_TX_BYTES && !isWide(txId);
  }

  has(partition: PartitionId, key: QualifiedKey): boolean {
    return this.#find(partition, key) >= 0;
  }

  /** The version of a key. */
  read(partition: PartitionId, key: QualifiedKey): RowVersion | undefined {
    const slot = this.#find(partition, key);
    if (slot < 0) return undefined;
    const place = this.#slots[slot]!;
    const { bytes } = this.#pageOf(place);
    const at = offsetOf(place);
    bytes[at + FLAGS]! |= HOT;
    return this.#versionAt(bytes, at);
  }

  /** Removes the row of a key, if the key has a row, and returns what the row holds. */
  take(partition: PartitionId, key: QualifiedKey): Row | undefined {
    const slot = this.#find(partition, key);
    if (slot < 0) return undefined;
    const place = this.#slots[slot]!;
    const page = this.#pageOf(place);
    const at = offsetOf(place);
    const row = { version: this.#versionAt(page.bytes, at), first: page.bytes.readUInt32LE(at + FIRST) };
    this.#remove(slot, page, at);
    if (page.live === 0 && page !== this.#filling) this.#free(page);
    this.#releaseIfEmpty();
    return row;
  }

  /** Adds the row of a key without a row. The version must be such that `holds` is true. */
  put(partition: PartitionId, key: QualifiedKey, { version, first }: Row): void {
    const { ts, txId, region, value } = version;
    const relations = sealRelations(version);
    const wideKey = isWide(key);
    const wideValue = typeof value === 'string' && isWide(value);
    const keyBytes = key.length * (wideKey ? 2 : 1);
    const valueBytes = value.length * (wideValue ? 2 : 1);
    const size = aligned(HEADER + keyBytes + txId.length + valueBytes + relations.length);
    const page = this.#pageFor(size);
    const { bytes, used: at } = page;
    const hash = hashOf(partition, key);
    bytes.writeUInt32LE(hash, at + HASH);
    bytes.writeUInt32LE(size, at + SIZE);
    bytes[at + FLAGS] =
      (wideKey ? WIDE_KEY : 0) | (wideValue ? WIDE_VALUE : 0) | (typeof value === 'string' ? 0 : BYTES_VALUE);
    bytes[at + TX_BYTES] = txId.length;
    bytes.writeUInt16LE(this.#regionNumber(region), at + REGION);
    bytes.writeUInt32LE(keyBytes, at + KEY_BYTES);
    bytes.writeDoubleLE(ts, at + TS);
    bytes.writeUInt32LE(first, at + FIRST);
    bytes.writeUInt32LE(valueBytes, at + VALUE_BYTES);
    bytes.writeUInt32LE(relations.length, at + RELATION_BYTES);
    let end = at + HEADER;
    end += bytes.write(key, end, wideKey ? 'utf16le' : 'latin1');
    end += bytes.write(txId, end, 'latin1');
    if (typeof value === 'string') end += bytes.write(value, end, wideValue ? 'utf16le' : 'latin1');
    else {
      bytes.set(value, end);
      end += valueBytes;
    }
    bytes.set(relations, end);
    this.#added(page, size);
    this.count++;
    this.#makeRoom();
    this.#link(hash, placeOf(page, at));
  }

  /**
   * Gives back memory: a sparse page is compacted; otherwise the next page loses the rows without a read since eviction
   * looked at them last. Repeated, this ends with no row.
   */
  evict(): void {
    const page = this.#sparse.pop() ?? this.#nextPage();
    if (page === undefined) return;
    if (page === this.#filling) this.#filling = undefined;
    const keepsAll = page.sparse;
    for (let at = 0; at < page.used; at += page.bytes.readUInt32LE(at + SIZE)) {
      const flags = page.bytes[at + FLAGS]!;
      if ((flags & REMOVED) !== 0) continue;
      if (keepsAll || (flags & HOT) !== 0) this.#move(page, at, keepsAll ? flags : flags & ~HOT);
      else this.#remove(this.#slotOf(page, at), page, at);
    }
    this.#free(page);
    this.#releaseIfEmpty();
  }

  #find(partition: PartitionId, key: QualifiedKey): number {
    const slots = this.#slots;
    if (slots.length === 0) return -1;
    const hash = hashOf(partition, key);
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const place = slots[slot]!;
      if (place === 0) return -1;
      const { bytes } = this.#pageOf(place);
      const at = offsetOf(place);
      if (bytes.readUInt32LE(at + HASH) === hash && isOf(bytes, at, key)) return slot;
    }
  }

  #versionAt(bytes: Buffer, at: number): RowVersion {
    const flags = bytes[at + FLAGS]!;
    const tx = at + HEADER + bytes.readUInt32LE(at + KEY_BYTES);
    const from = tx + bytes[at + TX_BYTES]!;
    const to = from + bytes.readUInt32LE(at + VALUE_BYTES);
    const relationBytes = bytes.readUInt32LE(at + RELATION_BYTES);
    const version: RowVersion = {
      ts: bytes.readDoubleLE(at + TS),
      txId: bytes.toString('latin1', tx, from),
      region: this.#regions[bytes.readUInt16LE(at + REGION)]!,
      value: valueIn(bytes, from, to, flags),
    };
    return relationBytes === 0 ? version : { ...version, ...openRelations(bytes.subarray(to, to + relationBytes)) };
  }

  #regionNumber(region: string): number {
    const known = this.#regionNumbers.get(region);
    if (known !== undefined) return known;
    const number = this.#regions.push(region) - 1;
    this.#regionNumbers.set(region, number);
    return number;
  }

  #pageOf(place: number): Page {
    return this.#pages[Math.floor((place - 1) / UNITS)]!;
  }

  /** The slot of a row. */
  #slotOf(page: Page, at: number): number {
    const place = placeOf(page, at);
    const mask = this.#slots.length - 1;
    let slot = page.bytes.readUInt32LE(at + HASH) & mask;
    while (this.#slots[slot] !== place) slot = (slot + 1) & mask;
    return slot;
  }

  #link(hash: number, place: number): void {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = place;
  }

  /** The table is at most three quarters full. */
  #makeRoom(): void {
    if (this.count <= this.#slots.length * 0.75) return;
    const old = this.#slots;
    this.#slots = new Uint32Array(Math.max(MIN_SLOTS, old.length * 2));
    this.bytes += this.#slots.byteLength - old.byteLength;
    for (const place of old)
      if (place !== 0) this.#link(this.#pageOf(place).bytes.readUInt32LE(offsetOf(place) + HASH), place);
  }

  /** A page with room for a row. */
  #pageFor(size: number): Page {
    const filling = this.#filling;
    if (filling !== undefined && filling.used + size <= filling.bytes.length) return filling;
    const bytes =
      size <= this.pageBytes
        ? (this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.pageBytes))
        : Buffer.allocUnsafeSlow(size);
    const number = this.#freeNumbers.pop() ?? this.#pages.length;
    const page = { number, bytes, used: 0, live: 0, sparse: false };
    this.#pages[number] = page;
    this.bytes += bytes.length;
    // A long row does not end the page that is being filled.
    if (size <= this.pageBytes) this.#filling = page;
    return page;
  }

  #added(page: Page, size: number): void {
    page.used += size;
    page.live += size;
  }

  /** Copies a row to the page that is being filled. */
  #move(page: Page, at: number, flags: number): void {
    const slot = this.#slotOf(page, at);
    const size = page.bytes.readUInt32LE(at + SIZE);
    const to = this.#pageFor(size);
    page.bytes.copy(to.bytes, to.used, at, at + size);
    to.bytes[to.used + FLAGS] = flags;
    this.#slots[slot] = placeOf(to, to.used);
    this.#added(to, size);
  }

  #remove(slot: number, page: Page, at: number): void {
    page.bytes[at + FLAGS]! |= REMOVED;
    page.live -= page.bytes.readUInt32LE(at + SIZE);
    this.count--;
    this.#unlink(slot);
    if (!page.sparse && page !== this.#filling && page.live * 2 < page.used) {
      page.sparse = true;
      this.#sparse.push(page);
    }
  }

  /** Empties a slot; the rows behind it whose probing passes the slot move up. */
  #unlink(slot: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let gap = slot;
    for (let next = (gap + 1) & mask; slots[next] !== 0; next = (next + 1) & mask) {
      const place = slots[next]!;
      const home = this.#pageOf(place).bytes.readUInt32LE(offsetOf(place) + HASH) & mask;
      if (((next - home) & mask) < ((next - gap) & mask)) continue;
      slots[gap] = place;
      gap = next;
    }
    slots[gap] = 0;
  }

  #nextPage(): Page | undefined {
    for (let looked = 0; looked < this.#pages.length; looked++) {
      this.#hand = (this.#hand + 1) % this.#pages.length;
      const page = this.#pages[this.#hand];
      if (page !== undefined && page !== this.#filling) return page;
    }
    return this.#filling;
  }

  #free(page: Page): void {
    const at = this.#sparse.indexOf(page);
    if (at >= 0) this.#sparse.splice(at, 1);
    this.#pages[page.number] = undefined;
    this.#freeNumbers.push(page.number);
    this.bytes -= page.bytes.length;
    if (page.bytes.length === this.pageBytes && this.#spare.length < SPARE_PAGES) this.#spare.push(page.bytes);
  }

  /** Without rows nothing is kept. */
  #releaseIfEmpty(): void {
    if (this.count > 0) return;
    this.#pages.length = 0;
    this.#freeNumbers.length = 0;
    this.#sparse.length = 0;
    this.#filling = undefined;
    this.#slots = new Uint32Array(0);
    this.bytes = 0;
  }
}

const placeOf = ({ number }: Page, at: number): number => number * UNITS + at / UNIT + 1;
const offsetOf = (place: number): number => ((place - 1) % UNITS) * UNIT;

/**
 * FNV-1a over the characters, and a last mix for the low bits. For one key each step is a bijection, so two partitions
 * never have the same hash of it: a row needs no partition beside the hash and the key.
 */
function hashOf(partition: PartitionId, key: QualifiedKey): number {
  let hash = 0x811c9dc5 ^ partition;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

function isOf(bytes: Buffer, at: number, key: QualifiedKey): boolean {
  const isWideKey = (bytes[at + FLAGS]! & WIDE_KEY) !== 0;
  const length = bytes.readUInt32LE(at + KEY_BYTES);
  if (length !== key.length * (isWideKey ? 2 : 1)) return false;
  const from = at + HEADER;
  if (isWideKey) return bytes.toString('utf16le', from, from + length) === key;
  for (let i = 0; i < length; i++) if (bytes[from + i] !== key.charCodeAt(i)) return false;
  return true;
}

function valueIn(bytes: Buffer, from: number, to: number, flags: number): Value {
  if ((flags & BYTES_VALUE) !== 0) return new Uint8Array(bytes.subarray(from, to));
  return (flags & WIDE_VALUE) !== 0 ? bytes.toString('utf16le', from, to) : bytes.toString('latin1', from, to);
}
