/** Paths in backticks on pages: each names a file or a folder of the repository, as a link does. */
import type { Finding } from './source.js';

/** Where a page may write the end of a path alone: the files and folders of the repository, by their last part. */
export interface Paths {
  readonly all: readonly string[];
  /** Names of the folders that are the parent of anything. */
  readonly folderNames: ReadonlySet<string>;
}

const PATH = /^(?:\.{1,2}\/)*[\w.*-]+(?:\/[\w.*-]+)*\/?$/;
/** Ends of files that are part of the repository; data files are often those of a user, or made by a test. */
const SOURCE = /\.(?:ts|tsx|mts|mjs|md|swift|sh|svg)$/;

/** Files and folders of a repository, from its files. */
export function pathsOf(files: readonly string[]): Paths {
  const folders = new Set<string>();
  for (const file of files)
    for (let end = file.lastIndexOf('/'); end > 0; end = file.lastIndexOf('/', end - 1))
      folders.add(file.slice(0, end));
  return { all: [...files, ...folders], folderNames: new Set([...folders].map((folder) => folder.split('/').at(-1)!)) };
}

/** Whether a text in backticks is meant as a path of the repository. */
export function isPath(text: string, { folderNames }: Paths): boolean {
  // A build is no part of the repository.
  if (!PATH.test(text) || text.split('/').includes('dist')) return false;
  if (SOURCE.test(text) || /^\.{1,2}\//.test(text)) return true;
  const [first, ...rest] = text.split('/');
  return rest.length > 0 && rest.join('') !== '' && folderNames.has(first!);
}

/**
 * Paths of a page that do not exist. A page may leave the beginning of a path out; a path with `../` or from `src/` on
 * is relative to the page's folder.
 */
export function pathFindings(page: string, text: string, paths: Paths): Finding[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, (block) => block.replace(/[^\n]/g, ''));
  const named = [...prose.matchAll(/`(?<text>[^`\n]+)`/g)].filter(({ groups }) => isPath(groups!.text!, paths));
  return named.flatMap((match) => {
    const path = match.groups!.text!;
    const line = prose.slice(0, match.index).split('\n').length;
    return exists(page, path, paths) ? [] : [`${page}:${line}: there is no ${path}`];
  });
}

function exists(page: string, path: string, { all }: Paths): boolean {
  const folder = page.split('/').slice(0, -1);
  const parts = path.replace(/\/$/, '').split('/');
  const isRelative = parts[0] === '..' || parts[0] === '.' || parts[0] === 'src';
  if (isRelative) {
    while (parts[0] === '..' || parts[0] === '.') if (parts.shift() === '..') folder.pop();
    parts.unshift(...folder);
  }
  const pattern = parts.map((part) => part.replaceAll('.', '\\.').replaceAll('*', '[^/]*')).join('/');
  const whole = new RegExp(`${isRelative ? '^' : '(?:^|/)'}${pattern}$`);
  return all.some((candidate) => whole.test(candidate));
}
