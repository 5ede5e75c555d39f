/** ARCHITECTURE.md and the pictures of the documentation, compared with the files that they name. */
import type { Finding } from './source.js';

/** The greatest number of files that a transaction's way may name. */
const MOST_FILES = 40;

/** The files that the section `## One transaction's way` links to, in their order, each once. */
export function wayOf(page: string): string[] {
  const [, section = ''] = /^## One transaction's way$([\s\S]*?)^## /m.exec(page) ?? [];
  return [...new Set([...section.matchAll(/\]\((?<path>[^)#]+)\)/g)].map(({ groups }) => groups!.path!))];
}

/** Findings of a way: too many files, or one that does not exist. */
export function wayFindings(files: readonly string[], exists: (path: string) => boolean): Finding[] {
  const long = files.length > MOST_FILES ? [`ARCHITECTURE.md: a way of ${files.length} files, more than 40`] : [];
  return [...long, ...files.filter((path) => !exists(path)).map((path) => `ARCHITECTURE.md: there is no ${path}`)];
}

/** The folders that a picture names. */
export const foldersOf = (svg: string): string[] =>
  [...svg.matchAll(/<text class="folder"[^>]*>(?<path>[^<]+)</g)].map(({ groups }) => groups!.path!);

/** Folders of a picture that do not exist, and parts of the product that it does not show. */
export function pictureFindings(
  path: string,
  folders: readonly string[],
  parts: readonly string[],
  exists: (path: string) => boolean,
): Finding[] {
  const gone = folders.filter((folder) => !exists(folder)).map((folder) => `${path}: there is no ${folder}`);
  const missing = parts.filter((part) => !folders.some((folder) => folder.startsWith(`${part}/`)));
  return [...gone, ...missing.map((part) => `${path}: does not show ${part}`)];
}
