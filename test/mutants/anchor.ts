/** The place of a patch: a statement, or a part of one, in a named part of a source. */
import { parseSync } from '@swc/core';

/** A range of a text. */
export interface Place {
  readonly start: number;
  readonly end: number;
}

interface Node {
  readonly type: string;
  readonly span?: Place;
  readonly [property: string]: unknown;
}

/** How deep names go: a function or a constant, or a member of a class or of an object. */
const DEPTH = 2;

/** The body of a function, a method or an arrow function. */
export interface Body extends Place {
  /** Whether the body is a block of statements, and not the expression of an arrow function. */
  readonly isBlock: boolean;
}

/** A parsed source. */
interface Source {
  readonly body: readonly Node[];
  /** The position in the text of a place of the parser. */
  readonly at: (place: Place) => Place;
}

let latest: readonly [text: string, source: Source] | undefined;

/** Parses a text. The latest source is kept: patches of a file are looked up one after the other. */
function parsed(text: string): Source {
  if (latest?.[0] === text) return latest[1];
  // The parser counts bytes from an origin that moves from call to call; an empty statement in front shows it.
  const bytes = Buffer.from(`;${text}`);
  const { body } = parseSync(bytes.toString(), { syntax: 'typescript', target: 'es2022' });
  const origin = body[0]!.span.start;
  const at = (offset: number) => bytes.subarray(0, offset - origin).toString().length - 1;
  const source = { body: body as never, at: ({ start, end }: Place) => ({ start: at(start), end: at(end) }) };
  latest = [text, source];
  return source;
}

/**
 * The parts of a source that have names: functions, classes, constants (`cureSession`) and members (`Cohort.prepare`,
 * `Cohort.#abort`). A getter and its setter share a name.
 */
export function namedParts(text: string): readonly (readonly [name: string, place: Place])[] {
  const { body, at } = parsed(text);
  return [...partsIn(body, [])].map(([name, place]) => [name, at(place)]);
}

/** The bodies of all functions of a source, from outside to inside. */
export function bodiesOf(text: string): readonly Body[] {
  const { body, at } = parsed(text);
  return [...bodiesIn(body)].map(({ isBlock, ...place }) => ({ isBlock, ...at(place) }));
}

function* bodiesIn(value: unknown): Generator<Body> {
  if (typeof value !== 'object' || value === null) return;
  const { type, body } = value as Node & { readonly body?: Node };
  const isBlock = body?.type === 'FunctionBody' || body?.type === 'BlockStatement';
  const isFunction = type === 'ArrowFunctionExpression' || body?.type === 'FunctionBody';
  if (isFunction && body?.span !== undefined) yield { ...body.span, isBlock };
  for (const part of Object.values(value)) yield* bodiesIn(part);
}

function* partsIn(value: unknown, path: readonly string[]): Generator<readonly [string, Place]> {
  if (Array.isArray(value)) for (const item of value) yield* partsIn(item, path);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const node = value as Node;
  const name = nameOf(node);
  const inner = name === undefined ? path : [...path, name];
  // The parser gives `key: value` no span of its own.
  const span = node.span ?? (node.value as Node | undefined)?.span;
  if (name !== undefined && span !== undefined) yield [inner.join('.'), span];
  if (inner.length < DEPTH) for (const part of Object.values(value)) yield* partsIn(part, inner);
}

function nameOf(node: Node): string | undefined {
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return textOf(node.identifier);
    case 'VariableDeclarator':
      return textOf(node.id);
    case 'Constructor':
    case 'ClassMethod':
    case 'ClassProperty':
    case 'MethodProperty':
    case 'KeyValueProperty':
      return textOf(node.key);
    case 'PrivateMethod':
    case 'PrivateProperty':
      return `#${textOf(node.key)}`;
    default:
      return undefined;
  }
}

/** The text of an identifier or of a quoted key. */
function textOf(key: unknown): string | undefined {
  if (typeof key !== 'object' || key === null) return undefined;
  const { value, id } = key as { value?: unknown; id?: unknown };
  return typeof value === 'string' ? value : id === undefined ? undefined : textOf(id);
}

const TOKEN = /[\w$#]+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s]/g;

/**
 * Finds the tokens of a text, in any layout: space between them and a comma before a closing
 * bracket make no difference.
 */
export function tokensOf(find: string): RegExp {
  const tokens = find.match(TOKEN) ?? [];
  const pattern = tokens.flatMap((token, i) => {
    if (token === ',' && /^[)\]}]$/.test(tokens[i + 1] ?? '')) return [];
    const literal = token.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    if (/^[\w$#]/.test(token)) return [`(?<![\\w$#])${literal}(?![\\w$])`];
    return [i > 0 && /^[)\]}]$/.test(token) ? `(?:,\\s*)?${literal}` : literal];
  });
  return new RegExp(pattern.join('\\s*'), 'g');
}

/** Every place in a named part of a text that has these tokens. */
export function placesOf(text: string, part: string, find: string): readonly Place[] {
  const parts = namedParts(text).filter(([name]) => name === part);
  return parts.flatMap(([, { start, end }]) =>
    [...text.slice(start, end).matchAll(tokensOf(find))].map(({ index, 0: found }) => ({
      start: start + index,
      end: start + index + found.length,
    })),
  );
}
