/** CSV by RFC 4180: commas, optional double quotes, line breaks inside quotes. */
import { IsochronError } from '@isochron/core/errors';

/** A record and the line on which it begins. */
export interface CsvRecord {
  readonly fields: readonly string[];
  readonly line: number;
}

const MAX_FIELD_LENGTH = 64 * 2 ** 20;

/**
 * Reads records from text in pieces of any size.
 * @throws IsochronError `VALUE_INVALID` for a quote in the wrong place, or one that is never closed
 */
export async function* recordsOf(chunks: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  const reader = new CsvReader();
  let first = true;
  for await (const chunk of chunks) {
    if (chunk === '') continue;
    // A byte order mark is not part of the first column's name.
    yield* reader.push(first ? chunk.replace(/^\uFEFF/, '') : chunk);
    first = false;
  }
  yield* reader.end();
}

type State = 'start' | 'plain' | 'quoted' | 'closed';

class CsvReader {
  #state: State = 'start';
  #field = '';
  #fields: string[] = [];
  #line = 1;
  #recordLine = 1;

  *push(chunk: string): Generator<CsvRecord> {
    for (const char of chunk) {
      if (char === '\n') this.#line++;
      if (this.#state === 'quoted') this.#inQuotes(char);
      else if (char === '\n') yield* this.#endRecord();
      else this.#outside(char);
    }
    if (this.#field.length > MAX_FIELD_LENGTH) throw this.#invalid('a field is too long; is a quote missing?');
  }

  *end(): Generator<CsvRecord> {
    if (this.#state === 'quoted') throw this.#invalid('a quote is never closed');
    yield* this.#endRecord();
  }

  #inQuotes(char: string): void {
    if (char === '"') this.#state = 'closed';
    else this.#field += char;
  }

  #outside(char: string): void {
    if (char === ',') this.#endField();
    else if (char === '"') this.#quote();
    // The carriage return of a line's end. A lone one counts as text below.
    else if (char === '\r' && this.#state === 'closed') return;
    else if (this.#state === 'closed') throw this.#invalid('text after a closing quote');
    else {
      this.#field += char;
      this.#state = 'plain';
    }
  }

  #quote(): void {
    if (this.#state === 'plain') throw this.#invalid('a quote inside of a field that is not quoted');
    // Two quotes in a quoted field are one quote of its text.
    if (this.#state === 'closed') this.#field += '"';
    this.#state = 'quoted';
  }

  #endField(): void {
    this.#fields.push(this.#field);
    this.#field = '';
    this.#state = 'start';
  }

  *#endRecord(): Generator<CsvRecord> {
    if (this.#state === 'plain' && this.#field.endsWith('\r')) this.#field = this.#field.slice(0, -1);
    const isEmpty = this.#fields.length === 0 && this.#field === '' && this.#state !== 'closed';
    this.#endField();
    const fields = this.#fields;
    const line = this.#recordLine;
    this.#fields = [];
    this.#recordLine = this.#line;
    if (!isEmpty) yield { fields, line };
  }

  #invalid(what: string): IsochronError {
    return new IsochronError('VALUE_INVALID', `line ${this.#recordLine}: ${what}`);
  }
}
