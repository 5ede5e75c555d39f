import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { foldersOf, pictureFindings } from './architecture.js';
import { Repository } from './repository.js';

const repository = new Repository(join(__dirname, '../..'));
const exists = (path: string) => existsSync(join(repository.root, path));
const PICTURE = 'docs/data-flow.svg';
const isPrivate = (path: string) => JSON.parse(repository.read(`${path}/package.json`)).private === true;
/** All parts that are built into the product or judge it. A private package of `packages` serves tests alone. */
const PARTS = [
  ...repository.workspaces.filter((path) => /^packages\//.test(path) && !isPrivate(path)),
  'server',
  'sdk-js',
  'sdk-swift',
];

describe('the pictures', () => {
  it('the picture of the flow of data shows folders that exist, and every part of the product', () => {
    expect(PARTS.length).toBeGreaterThan(10);
    expect(pictureFindings(PICTURE, foldersOf(repository.read(PICTURE)), PARTS, exists)).toEqual([]);
  });

  it('the picture of the states of a node names those of the code', () => {
    const source = repository.read('packages/protocols/src/kernel/replication/verification.ts');
    const [, type = ''] = /^export type VerificationState = (.+);$/m.exec(source) ?? [];
    const states = [...type.matchAll(/'(\w+)'/g)].map(([, state]) => state!);
    const shown = [...repository.read('docs/rollback-states.svg').matchAll(/<text[^>]*>(\w+)<\/text>/g)].map(
      ([, text]) => text!,
    );
    expect(states.length).toBeGreaterThan(2);
    expect(shown).toEqual(expect.arrayContaining(states));
  });

  it('a picture with a missing folder, or without a part, is found', () => {
    const folders = foldersOf('<text class="folder" x="1">a/src</text><text>b</text><text class="folder">c/src</text>');
    expect(folders).toEqual(['a/src', 'c/src']);
    expect(pictureFindings('p.svg', folders, ['a', 'd'], (path) => path === 'a/src')).toEqual([
      'p.svg: there is no c/src',
      'p.svg: does not show d',
    ]);
  });
});
