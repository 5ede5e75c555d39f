import { parseSync } from '@swc/core';

/** A node of the syntax tree, with the fields that the rules use. */
export interface SyntaxNode {
  readonly type: string;
  readonly line: number;
  readonly [property: string]: unknown;
}

/** A parsed source file. */
export interface Source {
  /** Relative to the repository's root, with forward slashes. */
  readonly path: string;
  readonly nodes: readonly SyntaxNode[];
}

/** A violation of a rule, as `path:line: message`. */
export type Finding = string;

/** Parses TypeScript or JavaScript. Throws the parser's error when the text is neither. */
export function parseSource(path: string, text: string): Source {
  // The parser counts bytes from an origin that differs between calls; an empty statement in front shows it.
  const input = `;${text.replace(/^#!/, '//')}`;
  const { body } = parseSync(input, { syntax: 'typescript', tsx: path.endsWith('x'), target: 'es2022' });
  const origin = body[0]?.span.start ?? 0;
  const lineStarts = lineStartsOf(input);
  return { path, nodes: [...walk(body, (offset) => lineAt(lineStarts, offset - origin))] };
}

/** The finding of a rule at a node. */
export const findingAt = (source: Source, node: SyntaxNode, message: string): Finding =>
  `${source.path}:${node.line}: ${message}`;

/** The property of a node when it is a node itself. */
export function child(node: SyntaxNode, property: string): SyntaxNode | undefined {
  const value = node[property];
  return isNode(value) ? value : undefined;
}

/** The name when the node is an identifier. */
export const identifierName = (node: SyntaxNode | undefined): string | undefined =>
  node?.type === 'Identifier' && typeof node.value === 'string' ? node.value : undefined;

/** One mention of another module: `import`, `export … from`, `import()` or an import type. */
export interface ImportedModule {
  readonly specifier: string;
  readonly node: SyntaxNode;
}

/** Every module that a source names by a literal. */
export function importsOf(source: Source): ImportedModule[] {
  return source.nodes.flatMap((node) => {
    const named = specifierOf(node);
    return named?.type === 'StringLiteral' && typeof named.value === 'string' ? [{ specifier: named.value, node }] : [];
  });
}

function specifierOf(node: SyntaxNode): SyntaxNode | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportAllDeclaration':
    case 'ExportNamedDeclaration':
      return child(node, 'source');
    case 'TsImportType':
      return child(node, 'argument');
    case 'CallExpression':
      return isImportCall(node) ? firstArgument(node) : undefined;
    default:
      return undefined;
  }
}

function isImportCall(node: SyntaxNode): boolean {
  const callee = child(node, 'callee');
  return callee?.type === 'Import' || identifierName(callee) === 'require';
}

function firstArgument(node: SyntaxNode): SyntaxNode | undefined {
  const [first] = Array.isArray(node.arguments) ? node.arguments : [];
  return isRecord(first) && isNode(first.expression) ? first.expression : undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const isNode = (value: unknown): value is SyntaxNode => isRecord(value) && typeof value.type === 'string';

function* walk(value: unknown, lineOf: (offset: number) => number): Generator<SyntaxNode> {
  if (!isRecord(value)) return;
  if (isNode(value)) {
    const { span } = value;
    yield Object.assign(value, { line: isRecord(span) ? lineOf(Number(span.start)) : 0 });
  }
  for (const inner of Object.values(value)) yield* walk(inner, lineOf);
}

function lineStartsOf(text: string): number[] {
  const starts = [0];
  for (const [offset, byte] of Buffer.from(text).entries()) if (byte === 10) starts.push(offset + 1);
  return starts;
}

const lineAt = (lineStarts: readonly number[], offset: number): number =>
  lineStarts.findLastIndex((start) => start <= offset) + 1;
