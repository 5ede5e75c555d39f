/** The pictures of the documentation, compared with the files that they name. */
import type { Finding } from './source.js';

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
