/** Pieces of Swift sources: comments, names, and what a TypeScript source documents. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');
const WIDTH = 120;

/** A Swift file, by its path in the repository. */
export interface SwiftFile {
  readonly path: string;
  readonly text: string;
}

/** A generated file with its declarations, which a blank line separates. */
export function swiftFile(path: string, sources: readonly string[], declarations: readonly string[]): SwiftFile {
  const head = [
    ...filled('// ', `Generated from ${sources.join(', ')}: change the declarations there, then run`),
    '// `REWRITE=1 npm test -- test/swift-declarations`.',
  ];
  return { path, text: `${[head.join('\n'), ...declarations].join('\n\n')}\n` };
}

/** Words on lines of at most 120 characters that begin with `start`. */
export function filled(start: string, words: string): string[] {
  const lines = [start.trimEnd()];
  for (const word of words.split(/\s+/)) {
    const line = lines.at(-1)!;
    const isEmpty = line.length < start.length;
    if (!isEmpty && line.length + 1 + word.length > WIDTH) lines.push(`${start}${word}`);
    else lines[lines.length - 1] = isEmpty ? `${start}${word}` : `${line} ${word}`;
  }
  return lines;
}

/** A doc comment of paragraphs, as lines. */
export const doc = (indent: string, ...paragraphs: readonly string[]): string[] =>
  paragraphs.flatMap((text, i) => [...(i > 0 ? [`${indent}///`] : []), ...filled(`${indent}/// `, text)]);

/** A block in braces, from its lines. */
export const block = (head: string, lines: readonly string[]): string => `${head} {\n${lines.join('\n')}\n}`;

/** Items in brackets: on the line of `head`, or each on a line of its own where they are too wide. */
export function list(head: string, items: readonly string[], tail = ')'): string[] {
  const line = `${head}${items.join(', ')}${tail}`;
  if (line.length <= WIDTH) return [line];
  const indent = /^ */.exec(head)![0];
  return [
    head,
    ...items.map((item, i) => `${indent}    ${item}${i < items.length - 1 ? ',' : ''}`),
    `${indent}${tail}`,
  ];
}

/** `KEY_NOT_FOUND` as `keyNotFound`. */
export const camelCase = (constant: string): string =>
  constant.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

const KEYWORDS = new Set(['internal', 'protocol']);
/** A name in a declaration: quoted if it is a word of the language. */
export const declared = (name: string): string => (KEYWORDS.has(name) ? `\`${name}\`` : name);

/** A whole number with its thousands apart. */
export const whole = (n: number): string => String(n).replace(/\B(?=(?:\d{3})+$)/g, '_');

const COMMENT = String.raw`/\*\*(?<doc>(?:[^*]|\*(?!/))*)\*/\s*`;
const textOf = (comment = ''): string =>
  comment
    .replace(/^\s*\* ?/gm, ' ')
    .replace(/\s+/g, ' ')
    .trim();

/** What a TypeScript source documents. */
export class Documentation {
  readonly #text: string;

  constructor(readonly path: string) {
    this.#text = readFileSync(join(ROOT, path), 'utf8');
  }

  /** Whether the source has a declaration, such as `interface Limits`. */
  has(declaration: string): boolean {
    return new RegExp(`\\b${declaration}\\b`).test(this.#text);
  }

  /** The comment of a declaration. Empty without a comment. */
  of(declaration: string): string {
    const found = new RegExp(`(?:${COMMENT})?(?:export )?\\b${declaration}\\b`).exec(this.#text);
    if (found === null) throw new RangeError(`${this.path} has no ${declaration}`);
    return textOf(found.groups!.doc);
  }

  /** The comments of the members of a declaration, by name. */
  members(declaration: string): Record<string, string> {
    const block = new RegExp(`^( *)(?:export )?${declaration}\\b[^{\\n]*\\{\\n([\\s\\S]*?)\\n\\1\\}`, 'm');
    const [, , body = ''] = block.exec(this.#text) ?? [];
    const found = body.matchAll(new RegExp(`${COMMENT}(?:readonly )?(?<name>\\w+)`, 'g'));
    return Object.fromEntries([...found].map(({ groups }) => [groups!.name, textOf(groups!.doc)]));
  }
}
