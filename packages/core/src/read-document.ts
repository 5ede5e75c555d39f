/**
 * The door of every document (F8, a document has one form). A document is I-JSON (RFC 7493): no member twice, no half
 * surrogate pair, no number that readers would change.
 */
import { MAX_DOCUMENT_DEPTH, nestedTooDeeply } from './depth.js';
import { IsochronError } from './errors.js';
import { isWellFormed } from './limits.js';
import { isNormalForm, placeIn } from './normal-form.js';

/** A text that is a document. */
export interface ReadDocument {
  /** The normal form of the document. */
  readonly text: string;
  /** What `JSON.parse` returns. */
  readonly value: unknown;
}

/**
 * Reads a JSON text from outside. A text in normal form costs its `JSON.parse` and `JSON.stringify`; any other is
 * searched for faults.
 * @param name the name of the whole in messages, which a JSON Pointer follows
 * @param levels most levels of arrays and objects within each other
 * @throws IsochronError `VALUE_INVALID`: its message begins with the place of the fault
 */
export function readDocument(text: string, name = 'document', levels = MAX_DOCUMENT_DEPTH): ReadDocument {
  if (!isWellFormed(text)) throw invalid(name, 'the text has half a surrogate pair: it is not Unicode');
  if (nestedTooDeeply(text, levels)) throw tooDeep(name);
  const value = parsed(text, name);
  if (isNormalForm(text, value)) return { text, value };
  new FaultSearch(text, name).search();
  return { text: JSON.stringify(value), value };
}

/** The refusal of a document with too many levels. */
export const tooDeep = (name = 'document'): IsochronError =>
  invalid(name, `it has more than ${MAX_DOCUMENT_DEPTH} levels. Divide it over several keys`);

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid(name, 'it is not JSON', cause);
  }
}

/** Most characters of a place in a message. */
const MAX_PLACE_LENGTH = 200;

function invalid(place: string, what: string, cause?: unknown): IsochronError {
  const quoted = JSON.stringify(place).slice(1, -1);
  const shown = quoted.length > MAX_PLACE_LENGTH ? `${quoted.slice(0, MAX_PLACE_LENGTH)}…` : quoted;
  return new IsochronError('VALUE_INVALID', `${shown}: ${what}.`, { cause });
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Finds the first fault of a text that `JSON.parse` accepts. */
class FaultSearch {
  #at = 0;
  /** The members and items that lead to the present part. */
  readonly #path: (string | number)[] = [];

  constructor(
    readonly text: string,
    readonly name: string,
  ) {}

  /** @throws IsochronError `VALUE_INVALID` */
  search(): void {
    const code = this.#next();
    if (code === OPEN_OBJECT) this.#object();
    else if (code === OPEN_ARRAY) this.#array();
    else if (code === QUOTE) this.#wellFormed();
    else this.#word();
  }

  #object(): void {
    const names = new Set<string>();
    this.#at++;
    while (this.#next() !== CLOSE_OBJECT) {
      const name = this.#wellFormed();
      this.#path.push(name);
      if (names.size === names.add(name).size) throw this.#invalid('a member of this name is there twice');
      this.#skip(); // the colon
      this.#part();
    }
    this.#at++;
  }

  #array(): void {
    this.#at++;
    for (let i = 0; this.#next() !== CLOSE_ARRAY; i++) {
      this.#path.push(i);
      this.#part();
    }
    this.#at++;
  }

  /** A member's value or an item, and the comma behind it. */
  #part(): void {
    this.search();
    this.#path.pop();
    if (this.#next() === COMMA) this.#at++;
  }

  #invalid(what: string): IsochronError {
    return invalid(this.#path.reduce<string>(placeIn, this.name), what);
  }

  /** The next string, which has to be well formed. */
  #wellFormed(): string {
    const start = this.#at;
    const isPlain = this.#skipString();
    if (isPlain) return this.text.slice(start + 1, this.#at - 1);
    const string = JSON.parse(this.text.slice(start, this.#at)) as string;
    if (!isWellFormed(string))
      throw this.#invalid('a text has half a surrogate pair. Store bytes, or whole characters');
    return string;
  }

  /** Returns whether the string has no escapes. */
  #skipString(): boolean {
    let isPlain = true;
    for (this.#at++; ; this.#at++) {
      const code = this.text.charCodeAt(this.#at);
      if (code === BACKSLASH) {
        isPlain = false;
        this.#at++;
      } else if (code === QUOTE) break;
    }
    this.#at++;
    return isPlain;
  }

  /** A number, true, false or null. */
  #word(): void {
    const start = this.#at;
    while (isOfWord(this.text.charCodeAt(this.#at))) this.#at++;
    const fault = faultOfWord(this.text.slice(start, this.#at));
    if (fault !== undefined) throw this.#invalid(fault);
  }

  /** The next character that is not white space. */
  #next(): number {
    while (this.text.charCodeAt(this.#at) <= 0x20) this.#at++;
    return this.text.charCodeAt(this.#at);
  }

  #skip(): void {
    this.#next();
    this.#at++;
  }
}

/** Letters, digits, signs and the point; not the end of the text, which is NaN. */
const isOfWord = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) ||
  code === 0x2d ||
  code === 0x2b ||
  code === 0x2e ||
  ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a);

/** Digits that every double holds. */
const SAFE_DIGITS = 15;

function faultOfWord(word: string): string | undefined {
  if (word.length <= SAFE_DIGITS && !/e/i.test(word)) return undefined;
  const value = Number(word);
  const decimal = decimalOf(word);
  if (decimal === undefined || (value === 0 && decimal.digits === '')) return undefined;
  const shown = word.length > 40 ? `${word.slice(0, 40)}…` : word;
  if (value === 0 || !Number.isFinite(value)) return `the number ${shown} is beyond the range of a double. ${AS_TEXT}`;
  const isWhole = decimal.exponent >= 0;
  if (!isWhole || isSameDecimal(decimal, decimalOf(String(value)))) return undefined;
  return `a double holds ${value}, not the whole number ${shown}. ${AS_TEXT}`;
}

const AS_TEXT = 'Store it as text';

/** A number without its sign: digits without zeros at the ends, times a power of ten. */
interface Decimal {
  readonly digits: string;
  readonly exponent: number;
}

/** Undefined for a word that is no number. */
function decimalOf(word: string): Decimal | undefined {
  const parts = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(word);
  if (parts === null) return undefined;
  const [, whole = '', fraction = '', exponent = '0'] = parts;
  const all = whole + fraction;
  let [start, end] = [0, all.length];
  while (start < end && all[start] === '0') start++;
  while (end > start && all[end - 1] === '0') end--;
  return { digits: all.slice(start, end), exponent: Number(exponent) - fraction.length + all.length - end };
}

const isSameDecimal = (one: Decimal, other: Decimal | undefined): boolean =>
  one.digits === other?.digits && one.exponent === other.exponent;
