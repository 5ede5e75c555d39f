// `node infra/swift/mirror.mjs FOLDER`: makes FOLDER a git repository of the Swift package alone, or brings it up to
// date.
//
// SwiftPM wants the manifest of a dependency at the root of its repository, which has other files here. The mirror has
// a commit and a tag for each version; the same sources make the same commit at any time, for any author.

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = process.argv[2] && resolve(process.argv[2]);
if (folder === undefined) {
  console.error('Name the folder of the mirror: node infra/swift/mirror.mjs FOLDER');
  process.exit(2);
}

/** Git depends on the command alone, not on the user's settings. */
const environment = {
  PATH: process.env.PATH,
  HOME: folder,
  GIT_CONFIG_NOSYSTEM: '1',
  ...Object.fromEntries(['AUTHOR', 'COMMITTER'].flatMap((who) => identity(who))),
};
function identity(who) {
  const of = { NAME: 'Isochron', EMAIL: 'isochron@localhost', DATE: '2025-01-01T00:00:00Z' };
  return Object.entries(of).map(([what, value]) => [`GIT_${who}_${what}`, value]);
}
const git = (cwd, ...args) => execFileSync('git', ['-C', cwd, ...args], { env: environment, encoding: 'utf8' });

/** Links to pages of this repository lead nowhere in the mirror: only their text stays. */
const withoutLinks = (page) => page.replace(/\[([^\]]+)\]\(\.\.\/[^)]+\)/g, '$1');

mkdirSync(folder, { recursive: true });
if (!existsSync(join(folder, '.git'))) git(folder, 'init', '--quiet', '--initial-branch=main');
for (const name of readdirSync(folder)) if (name !== '.git') rmSync(join(folder, name), { recursive: true });

const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', 'sdk-swift'];
const files = execFileSync('git', ['-C', root, ...listed], { encoding: 'utf8' })
  .split('\0')
  .filter(Boolean);
for (const file of files) {
  // Deleted, and not committed yet.
  if (!existsSync(join(root, file))) continue;
  cpSync(join(root, file), join(folder, file.slice('sdk-swift/'.length)));
}
cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
const readme = join(folder, 'README.md');
writeFileSync(readme, withoutLinks(readFileSync(readme, 'utf8')));

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
git(folder, 'add', '--all', '--force');
if (git(folder, 'status', '--porcelain') !== '') git(folder, 'commit', '--quiet', '--message', `Isochron ${version}`);
git(folder, 'tag', '--force', version);
console.log(`${folder} has version ${version}`);
