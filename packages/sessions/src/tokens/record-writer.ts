/** Writes the record of one token after the other, field by field, into memory that is used again. */
import type { Timestamp } from '@isochron/core';

export class RecordWriter {
  #memory = Buffer.alloc(256);
  #length = 0;

  /** Begins the next record. */
  begin(): void {
    this.#length = 0;
  }

  /** All fields so far: a view, until the next one is written. */
  get written(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  byte(value: number): void {
    this.#room(1);
    this.#memory[this.#length++] = value;
  }

  bytes(value: Uint8Array): void {
    this.#room(value.length);
    this.#memory.set(value, this.#length);
    this.#length += value.length;
  }

  /** Its length in a byte, and the text in Latin-1. */
  text(text: string): void {
    this.byte(text.length);
    this.latin1(text);
  }

  /** Text in Latin-1. */
  latin1(text: string): void {
    this.#room(text.length);
    this.#length += this.#memory.write(text, this.#length, 'latin1');
  }

  timestamp(ts: Timestamp): void {
    this.count(ts);
  }

  /** A whole number in 8 bytes. */
  count(count: number): void {
    this.#room(8);
    this.#memory.writeUInt32BE(Math.floor(count / 2 ** 32), this.#length);
    this.#memory.writeUInt32BE(count % 2 ** 32, this.#length + 4);
    this.#length += 8;
  }

  /** A whole number in as few bytes as it needs, 7 bits in each, the lowest first. */
  uint(value: number): void {
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) this.byte((rest % 128) + 128);
    this.byte(rest);
  }

  #room(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed > this.#memory.length) this.#memory = Buffer.concat([this.#memory], 2 * needed);
  }
}
