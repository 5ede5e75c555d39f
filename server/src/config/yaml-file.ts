/** Files of operators in YAML: checked against a schema, and refused with the line and the reason. */
import { IsochronError } from '@isochron/core';
import type { Static, TSchema } from '@sinclair/typebox';
import { Value, ValueErrorType } from '@sinclair/typebox/value';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';

/** Longest file, in characters: a cluster file of about two thousand nodes. */
export const MAX_FILE_LENGTH = 256 * 1024;

/** Refuses the file with a reason, at the line of the part at `path`. */
export type Refuse = (path: readonly (string | number)[], reason: string) => never;

/** A file of the right shape, and the refusal of what else is wrong in it. */
export interface YamlFile<T> {
  readonly file: T;
  readonly refuse: Refuse;
}

/**
 * Reads a file.
 * @param filename only for messages
 * @param what what it is, for messages: `a cluster file`
 * @throws IsochronError `CONFIG_INVALID`, with `file:line` and the reason
 */
export function readYaml<S extends TSchema>(
  schema: S,
  text: string,
  filename: string,
  what: string,
): YamlFile<Static<S>> {
  if (text.length > MAX_FILE_LENGTH) {
    const reason = `the file has ${text.length} characters; ${what} has at most ${MAX_FILE_LENGTH}`;
    throw refusal(filename, 1, reason);
  }
  const lines = new LineCounter();
  // Without the parser's own warnings on the console: their causes are refused, with a line.
  const document = parseDocument(text, { lineCounter: lines, logLevel: 'error' });
  const refuse: Refuse = (path, reason) => {
    throw refusal(filename, lineOf(document, lines, path), reason);
  };
  const syntax = document.errors[0];
  if (syntax !== undefined) {
    const reason = syntax.message.split('\n')[0]!.replace(/ at line .*$/, '');
    throw refusal(filename, lines.linePos(syntax.pos[0]).line, reason);
  }
  return { file: checkShape(schema, toPlain(document, refuse), refuse), refuse };
}

/** Longest reason, in characters: it may quote the file. */
const MAX_REASON_LENGTH = 500;

/** The reason on one line, whatever it quotes. */
function refusal(filename: string, line: number, reason: string): IsochronError {
  const short = reason.replace(/\s+/g, ' ').slice(0, MAX_REASON_LENGTH);
  return new IsochronError('CONFIG_INVALID', `${filename}:${line}: ${short}`);
}

function toPlain(document: Document, refuse: Refuse): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return refuse([], error instanceof Error ? error.message : 'cannot be read');
  }
}

/** The line of the innermost part of the file on the path: a missing field has its parent's. */
function lineOf(document: Document, lines: LineCounter, path: readonly (string | number)[]): number {
  for (let length = path.length; length > 0; length--) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

function checkShape<S extends TSchema>(schema: S, raw: unknown, refuse: Refuse): Static<S> {
  const error = Value.Errors(schema, raw).First();
  if (error === undefined) return raw as Static<S>;
  const path = error.path.split('/').slice(1).map(segment);
  const field = path.length === 0 ? 'the file' : `"${path.join('.')}"`;
  switch (error.type) {
    case ValueErrorType.ObjectAdditionalProperties:
      return refuse(path, `unknown field "${path.at(-1)}"; known here: ${knownFields(error.schema).join(', ')}`);
    case ValueErrorType.ObjectRequiredProperty:
      return refuse(path, `${field} is missing`);
    default:
      return refuse(path, `${field} is not valid: ${expected(error.schema, error.message)}`);
  }
}

const segment = (text: string): string | number =>
  /^\d+$/.test(text) ? Number(text) : text.replaceAll('~1', '/').replaceAll('~0', '~');

const expected = (schema: TSchema, message: string): string =>
  schema.description === undefined ? message.toLowerCase() : `expected ${schema.description}`;

/** The fields of an object schema, for a message about an unknown one. */
function knownFields(schema: TSchema): string[] {
  const properties: unknown = schema.properties;
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
}
