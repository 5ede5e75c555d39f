/**
 * Values of the benchmarks: f(key, writer). Every reader can verify each of them, for any writer, and they are random
 * text, which no layer can compress below six bits a character.
 */

/** Base64url: none of its characters needs an escape in JSON. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const BITS = 6;
/** Characters that name the writer. */
const WRITER_CHARACTERS = 3;
/** Writers have numbers below this one. */
export const WRITERS = 2 ** (BITS * WRITER_CHARACTERS);
/** Characters of 30 random bits. */
const WORD_CHARACTERS = 5;

/**
 * Fewest characters of a value: the writer, and a checksum that a wrong value matches once in a thousand million times.
 */
export const LEAST_CHARACTERS = WRITER_CHARACTERS + WORD_CHARACTERS;

/** The form of a load's values. */
export interface ValueRule {
  /** Characters of a value; its JSON text has two more. */
  readonly characters: number;
  /** Whether every value written is one of another key: each benchmark that reads must detect it. */
  readonly planted: boolean;
}

/** The value of a writer for a key. */
export const valueFor = ({ characters, planted }: ValueRule, key: string, writer: number): string =>
  textOf(planted ? `not ${key}` : key, writer % WRITERS, characters);

/** @throws Error for a value that no writer wrote to the key */
export function verify({ characters }: ValueRule, key: string, value: unknown): void {
  if (typeof value !== 'string' || value.length !== characters || value !== textOf(key, writerOf(value), characters))
    throw new WrongValue(key, value);
}

/** A read returned a value that no writer wrote to the key. */
export class WrongValue extends Error {
  constructor(key: string, value: unknown) {
    super(`wrong value of ${key}: ${(JSON.stringify(value) ?? 'none').slice(0, 200)}`);
  }
}

function writerOf(value: string): number {
  let writer = 0;
  for (let i = 0; i < WRITER_CHARACTERS; i++) writer = writer * 2 ** BITS + ALPHABET.indexOf(value[i]!);
  return Math.max(0, writer);
}

function textOf(key: string, writer: number, characters: number): string {
  let text = ALPHABET[writer >>> (2 * BITS)]! + ALPHABET[(writer >>> BITS) & 63]! + ALPHABET[writer & 63]!;
  let state = hashOf(key) ^ Math.imul(writer + 1, 0x9e3779b1);
  while (text.length < characters) {
    state = (state + 0x6d2b79f5) | 0;
    let word = mixed(state);
    for (let i = 0; i < WORD_CHARACTERS; i++) {
      text += ALPHABET[word & 63]!;
      word >>>= BITS;
    }
  }
  return text.length === characters ? text : text.slice(0, characters);
}

/** FNV-1a. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return hash;
}

/** The last steps of MurmurHash3: every bit of the input changes half of those of the result. */
function mixed(state: number): number {
  let word = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
  return (word ^ (word >>> 16)) >>> 0;
}
