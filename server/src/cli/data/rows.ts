/** Rows to write: from JSON lines and from CSV. */
import { MAX_DOCUMENT_DEPTH } from '@isochron/core/depth';
import { IsochronError } from '@isochron/core/errors';
import { readDocument } from '@isochron/core/read-document';
import type { JsonValue } from '@isochron/sdk';
import { recordsOf } from './csv.js';
import { linesOf } from './input.js';

/** One write. `document` is undefined for a deletion. */
export interface Row {
  readonly key: string;
  readonly document: JsonValue | Uint8Array | undefined;
}

/** The part of a transaction that writes. */
export interface RowSink {
  set(key: string, document: unknown): void;
  delete(key: string): void;
}

/** Writes rows in a transaction. */
export function writeRows(tx: RowSink, rows: readonly Row[]): void {
  for (const { key, document } of rows) {
    if (document === undefined) tx.delete(key);
    else tx.set(key, document);
  }
}

const invalid = (line: number, what: string, cause?: unknown): IsochronError =>
  new IsochronError('VALUE_INVALID', `line ${line}: ${what}`, { cause });

/**
 * A row of JSON lines: `{"key": …, "value": …}`, `{"key": …, "bytes": base64}` or `{"key": …, "delete": true}`.
 * @param number line number, for messages
 * @throws IsochronError `VALUE_INVALID`, with the line and the place in it
 */
export function parseRow(line: string, number: number): Row {
  const raw = parseJson(line, number);
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) throw invalid(number, 'expected an object');
  const { key, ...rest } = raw;
  if (typeof key !== 'string' || key === '') throw invalid(number, '"key" is missing, or not a text');
  const [field, ...others] = Object.keys(rest);
  if (field === undefined || others.length > 0)
    throw invalid(number, 'expected "key" and one of "value", "bytes", "delete"');
  return { key, document: documentOf(field, rest[field], number) };
}

function documentOf(field: string, content: JsonValue | undefined, line: number): Row['document'] {
  if (field === 'value' && content !== undefined) return content;
  if (field === 'delete' && content === true) return undefined;
  if (field === 'bytes' && typeof content === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(content)) {
    return new Uint8Array(Buffer.from(content, 'base64'));
  }
  throw invalid(line, `"${field}" is not "value", "bytes" with base64, or "delete" with true`);
}

/** Levels of a row above its document. */
const ROW_LEVELS = 1;

function parseJson(text: string, line: number): JsonValue {
  try {
    return readDocument(text, 'row', MAX_DOCUMENT_DEPTH + ROW_LEVELS).value as JsonValue;
  } catch (error) {
    throw error instanceof IsochronError ? invalid(line, error.message, error) : error;
  }
}

/** The line of a stored document, as {@link parseRow} reads it. */
export const formatRow = (key: string, document: unknown): string =>
  JSON.stringify(
    document instanceof Uint8Array
      ? { key, bytes: Buffer.from(document).toString('base64') }
      : { key, value: document },
  );

/** The line of a stored value, as {@link parseRow} reads it. The text of a document is copied: it is one line (F8). */
export const storedLine = (key: string, value: string | Uint8Array): string =>
  typeof value === 'string' ? `{"key":${JSON.stringify(key)},"value":${value}}` : formatRow(key, value);

/** Rows of JSON lines; empty lines are skipped. */
export async function* jsonRows(chunks: AsyncIterable<string>): AsyncGenerator<Row> {
  let number = 0;
  for await (const line of linesOf(chunks)) {
    number++;
    if (line.trim() !== '') yield parseRow(line, number);
  }
}

/**
 * Rows of CSV with a header line: a document for each record, with a text for each column.
 * @param keyColumn the column of the key; it is part of the document too
 */
export async function* csvRows(chunks: AsyncIterable<string>, keyColumn: string): AsyncGenerator<Row> {
  let header: readonly string[] | undefined;
  for await (const { fields, line } of recordsOf(chunks)) {
    if (header === undefined) {
      header = checkHeader(fields, keyColumn);
      continue;
    }
    if (fields.length !== header.length)
      throw invalid(line, `${fields.length} fields, the header has ${header.length}`);
    const document = Object.fromEntries(header.map((name, i) => [name, fields[i]!]));
    const key = fields[header.indexOf(keyColumn)]!;
    if (key === '') throw invalid(line, `the column "${keyColumn}" is empty`);
    yield { key, document };
  }
}

function checkHeader(fields: readonly string[], keyColumn: string): readonly string[] {
  if (new Set(fields).size < fields.length) throw invalid(1, 'a column occurs twice in the header');
  if (!fields.includes(keyColumn)) throw invalid(1, `no column "${keyColumn}"; there are ${fields.join(', ')}`);
  return fields;
}
