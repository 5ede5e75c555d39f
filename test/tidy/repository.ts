import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const GENERATED_ANYWHERE = new Set(['node_modules', 'dist']);
const GENERATED_AT_TOP = new Set(['data', 'bench-results', 'coverage']);
const isGenerated = (path: string, name: string): boolean => GENERATED_ANYWHERE.has(name) || GENERATED_AT_TOP.has(path);

/** Read access to the files of a repository. Paths are relative to its root, with forward slashes. */
export class Repository {
  /** Every file but generated and hidden ones. */
  readonly paths: readonly string[];

  constructor(readonly root: string) {
    this.paths = [...this.#walk('')];
  }

  /** The text of a file. */
  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }

  /** The names in a folder, generated and hidden ones too. */
  list(folder: string): string[] {
    return readdirSync(join(this.root, folder));
  }

  /** The folders that have a `package.json`, without the root. */
  get workspaces(): string[] {
    return this.paths
      .filter((path) => path.endsWith('/package.json'))
      .map((path) => path.slice(0, -'/package.json'.length));
  }

  /** Our TypeScript and JavaScript files, tests included. */
  get sources(): string[] {
    return this.paths.filter((path) => /\.(ts|tsx|mts|mjs|js)$/.test(path));
  }

  *#walk(folder: string): Generator<string> {
    for (const entry of readdirSync(join(this.root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && !isGenerated(path, entry.name) && !entry.name.startsWith('.')) yield* this.#walk(path);
      else if (entry.isFile()) yield path;
    }
  }
}

/** Whether a source is a test rather than part of the product. */
export const isTest = (path: string): boolean => /\.test\.(ts|tsx|mts)$/.test(path);
