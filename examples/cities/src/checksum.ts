/** A checksum over keys and documents that does not depend on their order. */
import { createHash } from 'node:crypto';

/** JSON with members in sorted order: equal documents give equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/**
 * Counts entries and adds up a 64-bit hash of each, modulo 2^64. A sum, not an exclusive or: there, an entry that
 * occurs twice would cancel itself.
 */
export class Checksum {
  #count = 0;
  #sum = 0n;

  /** Adds one entry. */
  add(key: string, document: unknown): void {
    const text = `${JSON.stringify(key)}:${canonicalJson(document)}`;
    const hash = createHash('sha256').update(text).digest().readBigUInt64BE(0);
    this.#count++;
    this.#sum = BigInt.asUintN(64, this.#sum + hash);
  }

  /** Entries so far. */
  get count(): number {
    return this.#count;
  }

  /** The sum as 16 hexadecimal digits. */
  get hex(): string {
    return this.#sum.toString(16).padStart(16, '0');
  }
}
