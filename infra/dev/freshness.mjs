// Decides what is up to date. Stamps live in node_modules/.isochron, so that they are deleted together with the files
// that they describe.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const SKIPPED_FOLDERS = new Set(['node_modules', 'dist', 'testdata']);
const isBuildInput = (name) => /\.(ts|tsx|json|mjs|js)$/.test(name) && !name.endsWith('.test.ts');

const nodeMajor = () => process.versions.node.split('.')[0];
const readJson = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined);
const stampFile = (root, name) => join(root, 'node_modules/.isochron', name);

function readStamp(root, name) {
  const file = stampFile(root, name);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/**
 * Records that an installation or build is up to date.
 * @param {string} root of the repository
 * @param {'install' | 'build'} name
 * @param {string} content the result of `installState` or `buildState` before the step ran
 */
export function writeStamp(root, name, content) {
  const file = stampFile(root, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** Identifies what `npm ci` would install with this Node. */
export function installState(root) {
  const lockfile = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  return `node ${nodeMajor()} ${lockfile.digest('hex')}`;
}

/** Whether the installed dependencies are those of the lock file, for this Node. */
export function isInstalled(root) {
  const stamp = readStamp(root, 'install');
  if (stamp === installState(root)) return true;
  const otherNode = stamp !== undefined && !stamp.startsWith(`node ${nodeMajor()} `);
  return !otherNode && installedByHand(root);
}

/**
 * An `npm install` or `npm ci` of the developer's own needs no second one: npm leaves a record of what it installed.
 */
function installedByHand(root) {
  const wanted = readJson(join(root, 'package-lock.json')).packages;
  const found = readJson(join(root, 'node_modules/.package-lock.json'))?.packages;
  if (found === undefined) return false;
  const missing = (path) => path !== '' && !found[path] && !wanted[path].optional && !wanted[path].devOptional;
  const same = (path) =>
    wanted[path]?.version === found[path].version && wanted[path].integrity === found[path].integrity;
  return !Object.keys(wanted).some(missing) && Object.keys(found).every(same);
}

/** The folders of the TypeScript projects, from the build's own list. */
export function projectFolders(root) {
  const build = join(root, 'infra/build');
  return readJson(join(build, 'tsconfig.json')).references.map((reference) => join(build, reference.path));
}

/** Identifies the inputs of the build: path, size and modification time of each, and the installed compiler. */
export function buildState(root) {
  const hash = createHash('sha256').update(installState(root));
  for (const folder of [...projectFolders(root), join(root, 'infra/build')]) addFolder(hash, folder);
  return hash.digest('hex');
}

function addFolder(hash, folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name)) addFolder(hash, path);
    else if (entry.isFile() && isBuildInput(entry.name)) {
      const { size, mtimeMs } = statSync(path);
      hash.update(`${path} ${size} ${mtimeMs}\n`);
    }
  }
}

/** Whether the compiler's output of every project exists. */
export const hasOutput = (root) => projectFolders(root).every((folder) => existsSync(join(folder, 'dist')));

/** The bundle of the command line, which `test/e2e/bundle.mjs` makes of the compiler's output. */
const BUNDLE = 'test/dist/isochron/main.js';

/** Whether the compiled files and the bundle are those of the sources. */
export const isBuilt = (root) =>
  hasOutput(root) && existsSync(join(root, BUNDLE)) && readStamp(root, 'build') === buildState(root);
