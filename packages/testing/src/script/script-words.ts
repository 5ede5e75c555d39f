/** Reading the words of a script's command line. */

/** A script names something that does not exist or cannot happen: it fails, whatever output it expects. */
export class ScriptError extends Error {}

/**
 * The words of one command, taken from the left. A command takes all of its words, so that no typing error is ignored.
 */
export class Words {
  readonly #words: string[];

  constructor(line: string) {
    this.#words = line.split(/\s+/).filter((word) => word !== '');
  }

  /** The next word without taking it; empty at the end. */
  get peek(): string {
    return this.#words[0] ?? '';
  }

  get atEnd(): boolean {
    return this.#words.length === 0;
  }

  /** @param what names the word in the error */
  next(what: string): string {
    const word = this.#words.shift();
    if (word === undefined) throw new ScriptError(`expected ${what} at the end`);
    return word;
  }

  /** Takes the next word if it is this one. */
  take(word: string): boolean {
    if (this.peek !== word) return false;
    this.#words.shift();
    return true;
  }

  /** The word behind a keyword, if the keyword comes next. */
  option(keyword: string): string | undefined {
    return this.take(keyword) ? this.next(`something after "${keyword}"`) : undefined;
  }

  /** Words up to a keyword or the end. */
  until(...keywords: readonly string[]): string[] {
    const words: string[] = [];
    while (!this.atEnd && !keywords.includes(this.peek)) words.push(this.next('a word'));
    return words;
  }

  end(): void {
    if (!this.atEnd) throw new ScriptError(`"${this.#words.join(' ')}" is too much`);
  }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000 };

/** `10ms`, `2s`, `3min`, `-60s` in milliseconds; `never` is endless. */
export function durationOf(word: string): number {
  if (word === 'never') return Number.POSITIVE_INFINITY;
  const [, sign, amount, unit] = /^([+-]?)(\d+)(ms|s|min)$/.exec(word) ?? [];
  if (amount === undefined || unit === undefined) throw new ScriptError(`"${word}" is no duration: 10ms, 2s, 3min`);
  return (sign === '-' ? -1 : 1) * Number(amount) * UNITS[unit]!;
}

export function numberOf(word: string): number {
  if (!/^\d+$/.test(word)) throw new ScriptError(`"${word}" is no number`);
  return Number(word);
}

/** One of some words. */
export function oneOfWords<T extends string>(word: string, words: readonly T[]): T {
  const found = words.find((candidate) => candidate === word);
  if (found === undefined) throw new ScriptError(`"${word}" is none of ${words.join(', ')}`);
  return found;
}

/** A written value: the text itself; `a*300000` is a large one; `nothing` deletes. */
export function valueOfWord(word: string): string | null {
  if (word === 'nothing') return null;
  const [, letter, times] = /^(.)\*(\d+)$/.exec(word) ?? [];
  return letter === undefined ? word : letter.repeat(Number(times));
}

/** The word for a value, the reverse of `valueOfWord`. */
export function wordOfValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  const text = String(value);
  const large = text.length > 40 && text === text[0]!.repeat(text.length);
  return large ? `${text[0]}*${text.length}` : text;
}
