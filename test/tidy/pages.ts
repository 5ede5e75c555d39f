/**
 * Code in the documentation. A comment `<!-- test: KIND -->` above a fenced block names the test that runs it; a block
 * without a language is output or a drawing.
 */
import type { Finding } from './source.js';

/** A fenced block with a language. */
export interface CodeBlock {
  /** The page, relative to the root of the repository. */
  readonly path: string;
  /** Line of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** The kind of test that the comment above it names; undefined without one. */
  readonly kind: string | undefined;
}

/** Kinds, each with its language and the test that runs it. */
export const KINDS: ReadonlyMap<string, { readonly language: string; readonly test: string }> = new Map([
  ['run', { language: 'ts', test: 'test/e2e/pages.test.ts' }],
  ['rules', { language: 'yaml', test: 'test/e2e/pages.test.ts' }],
  ['react', { language: 'tsx', test: 'test/e2e/pages.test.ts' }],
  ['curl', { language: 'sh', test: 'test/e2e/pages.test.ts' }],
  ['http', { language: 'sh', test: 'test/e2e/pages.test.ts' }],
  ['start', { language: 'sh', test: 'test/e2e/pages.test.ts' }],
  ['node', { language: 'sh', test: 'test/e2e/examples.test.ts' }],
  ['certs', { language: 'sh', test: 'test/e2e/examples.test.ts' }],
  ['cli', { language: 'sh', test: 'test/e2e/pages.test.ts' }],
  ['refused', { language: 'sh', test: 'test/e2e/pages.test.ts' }],
  ['auth', { language: 'yaml', test: 'server/src/auth/auth-file.test.ts' }],
  ['keys', { language: 'sh', test: 'server/src/cli/keys/keys.test.ts' }],
  ['commands', { language: 'sh', test: 'test/tidy/pages.test.ts' }],
  ['docc', { language: 'swift', test: 'sdk-swift/Tests/IsochronTests/DocumentationTests.swift' }],
  ['manifest', { language: 'swift', test: 'test/e2e/swift-package.test.ts' }],
  ['openapi', { language: 'ts', test: 'test/e2e/openapi-client.test.ts' }],
]);

const BLOCK = /^(?:<!-- test: (?<kind>[\w-]+) -->\n+)?```(?<language>\w+)\n(?<code>[\s\S]*?)\n```$/gm;

/** The fenced blocks of a page that have a language. */
export function codeBlocks(path: string, text: string): CodeBlock[] {
  return [...text.matchAll(BLOCK)].map((match) => {
    const { kind, language, code } = match.groups!;
    const line = text.slice(0, match.index + match[0].indexOf('```')).split('\n').length;
    return { path, line, language: language!, code: code!, kind };
  });
}

/** Blocks that no test runs, and kinds that do not exist. */
export function blockFindings(blocks: readonly CodeBlock[]): Finding[] {
  return blocks.flatMap(({ path, line, kind, language }) => {
    if (kind === undefined) return [`${path}:${line}: no test runs this block`];
    const known = KINDS.get(kind);
    if (known === undefined) return [`${path}:${line}: "${kind}" is no kind of test`];
    return known.language === language ? [] : [`${path}:${line}: a block of kind "${kind}" is ${known.language}`];
  });
}

/** Lines of a block that are not an npm script of the repository, and not `node` with a file that exists. */
export function commandFindings(
  { path, line, code }: CodeBlock,
  scripts: ReadonlySet<string>,
  exists: (file: string) => boolean,
): Finding[] {
  return code.split('\n').flatMap((text, i) => {
    const at = `${path}:${line + 1 + i}`;
    const command = text.replace(/\s+#.*$/, '');
    const script = /^npm (?:run (?:-s )?(?<run>[\w:-]+)|(?<bare>start|test))(?: |$)/.exec(command)?.groups;
    const name = script?.run ?? script?.bare;
    if (name !== undefined) return scripts.has(name) ? [] : [`${at}: package.json has no script "${name}"`];
    const file = /^node (?<file>\S+)/.exec(command)?.groups?.file;
    if (file !== undefined) return exists(file) ? [] : [`${at}: there is no ${file}`];
    return [`${at}: neither an npm script nor a file of the repository: ${command}`];
  });
}

/** Relative links of a page to files that do not exist, and to headings that the file does not have. */
export function linkFindings(path: string, text: string, read: (path: string) => string | undefined): Finding[] {
  const targets = [...text.matchAll(/\]\((?<inline>[^)\s]+)\)|^\[[^\]]+\]: (?<reference>\S+)$/gm)];
  return targets.flatMap(({ groups }) => {
    const link = groups!.inline ?? groups!.reference!;
    if (/^[a-z]+:/.test(link)) return [];
    const [file = '', heading] = link.split('#');
    const target = file === '' ? path : resolved(path, file);
    const page = read(target);
    if (page === undefined) return [`${path}: links to ${link}, which does not exist`];
    if (heading === undefined || headings(page).has(heading)) return [];
    return [`${path}: links to ${link}, and there is no such heading`];
  });
}

function resolved(from: string, link: string): string {
  const parts = [...from.split('/').slice(0, -1), ...link.split('/')];
  const path: string[] = [];
  for (const part of parts) {
    if (part === '..') path.pop();
    else if (part !== '.' && part !== '') path.push(part);
  }
  return path.join('/');
}

/** The anchors of a page's headings, as GitHub makes them. */
export function headings(text: string): Set<string> {
  const titles = [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/^#{1,6} (?<title>.+)$/gm)];
  return new Set(
    titles.map(({ groups }) =>
      groups!
        .title!.toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replace(/ /g, '-'),
    ),
  );
}

/** Lines of a page above 120 characters. Code and rows of tables cannot be broken, and are exempt. */
export function widthFindings(path: string, text: string): Finding[] {
  let inCode = false;
  return text.split('\n').flatMap((line, i) => {
    if (line.startsWith('```')) inCode = !inCode;
    return inCode || line.startsWith('|') || line.length <= 120
      ? []
      : [`${path}:${i + 1}: is ${line.length} wide, more than 120`];
  });
}
